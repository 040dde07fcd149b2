package recipes

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

type keyServer struct{}

func (keyServer) Create(_ context.Context, name, _ string) (id, secret string, err error) {
	return "key-1", "secret of " + name, nil
}

// existing is the part of a client that does not matter here.
type existing struct{ *KeyClient }

func (existing) Observe(_ context.Context, u *v1alpha1.User) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{ResourceExists: meta.GetExternalName(u) != "", ResourceUpToDate: true}, nil
}
func (existing) Update(context.Context, *v1alpha1.User) error { return nil }
func (existing) Delete(context.Context, *v1alpha1.User) error { return nil }

// TestKeyIsPublished runs the reconciler: the secret that only Create returns is in the Secret.
func TestKeyIsPublished(t *testing.T) {
	types := scheme(t)
	kube := apiserver.New(types, clock.RealClock{}).Client()
	u := user("ann")
	u.UID, u.Annotations = "", nil
	if err := kube.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	r := managed.NewReconciler(&fake.Manager{Client: kube, Scheme: types}, v1alpha1.UserKind, append(KeyOptions(),
		managed.WithTypedExternalConnector[*v1alpha1.User](managed.TypedExternalConnectorFn[*v1alpha1.User](
			func(context.Context, *v1alpha1.User) (managed.TypedExternalClient[*v1alpha1.User], error) {
				return existing{&KeyClient{API: keyServer{}}}, nil
			})))...)
	key := client.ObjectKeyFromObject(u)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	err := kube.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "ann-connection"}, secret)
	if err != nil || string(secret.Data["id"]) != "key-1" ||
		!strings.HasPrefix(string(secret.Data["secret"]), "secret of ") {
		t.Errorf("the Secret has %v: %v", secret.Data, err)
	}
}

package xp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/xp"
)

// A server has one resource, by its name. Its client is that of a provider for
// crossplane-runtime: only Create returns the password.
type server struct {
	names        map[string]bool
	blind        bool // it does not show what was created
	disconnected int
}

func (s *server) Connect(context.Context, resource.Managed) (xp.ExternalClient, error) { return s, nil }

func (s *server) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if meta.GetExternalName(mg) == "" {
		return managed.ExternalObservation{}, errors.New("a call without an external name")
	}

	if s.blind || !s.names[meta.GetExternalName(mg)] {
		return managed.ExternalObservation{}, nil
	}

	mg.SetConditions(commonv1.Available())

	return managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: true,
		ConnectionDetails: managed.ConnectionDetails{xp.ResourceCredentialsSecretUserKey: []byte(meta.GetExternalName(mg))},
	}, nil
}

func (s *server) Create(_ context.Context, mg resource.Managed) (xp.ExternalCreation, error) {
	s.names[meta.GetExternalName(mg)] = true

	return xp.ExternalCreation{
		ConnectionDetails: managed.ConnectionDetails{xp.ResourceCredentialsSecretPasswordKey: []byte("generated")},
		AdditionalDetails: xp.AdditionalDetails{"request": "42"},
	}, nil
}

func (s *server) Update(context.Context, resource.Managed) (xp.ExternalUpdate, error) {
	return xp.ExternalUpdate{}, nil
}

func (s *server) Delete(_ context.Context, mg resource.Managed) (xp.ExternalDelete, error) {
	delete(s.names, meta.GetExternalName(mg))

	return xp.ExternalDelete{}, nil
}

func (s *server) Disconnect(context.Context) error {
	s.disconnected++

	return nil
}

// TestLife takes an object of each kind from its creation to its end, with a client of
// crossplane-runtime, and the finalizer that crossplane-runtime left on it.
func TestLife(t *testing.T) {
	objects := map[string]interface {
		client.Object
		resource.Managed
	}{
		"Role": &role{
			ObjectMeta: metav1.ObjectMeta{Namespace: "db"},
			Spec: roleSpec{
				ManagedResourceSpec: xp.ManagedResourceSpec{
					WriteConnectionSecretToReference: &commonv1.LocalSecretReference{Name: "login"},
				},
			},
		},
		"Grant": &grant{
			Spec: grantSpec{
				ResourceSpec: xp.ResourceSpec{
					WriteConnectionSecretToReference: &xp.SecretReference{Namespace: "db", Name: "login"},
				},
			},
		},
	}

	for kind, mg := range objects {
		t.Run(kind, func(t *testing.T) {
			mg.SetName("reader")
			mg.SetUID("1")
			mg.SetFinalizers([]string{xp.FinalizerName})

			s := scheme(corev1.AddToScheme)
			kube := clientfake.NewClientBuilder().WithScheme(s).WithObjects(mg).WithStatusSubresource(mg).Build()
			external := &server{names: map[string]bool{}}
			log := &entries{}
			r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: s}, resource.ManagedKind(gv.WithKind(kind)),
				xp.WithExternalConnecter(external), managed.WithChangeLog(log))

			passes(t, r, mg)

			secret := &corev1.Secret{}
			if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "db", Name: "login"}, secret); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(map[string][]byte{
				"username": []byte("reader"), "password": []byte("generated"),
			}, secret.Data); diff != "" {
				t.Errorf("the connection secret, -want, +got:\n%s", diff)
			}

			if !metav1.IsControlledBy(secret, mg) || secret.Type != xp.SecretType {
				t.Errorf("the connection secret belongs to %v, and has the type %q", secret.OwnerReferences,
					secret.Type)
			}

			if len(log.recorded) == 0 || log.recorded[0].Details["request"] != "42" {
				t.Errorf("the change log has %+v", log.recorded)
			}

			if err := kube.Delete(t.Context(), mg); err != nil {
				t.Fatal(err)
			}

			passes(t, r, mg)

			if len(external.names) > 0 {
				t.Errorf("the finalizer of crossplane-runtime kept the resource: %v", external.names)
			}

			if external.disconnected == 0 {
				t.Error("the client was never disconnected")
			}
		})
	}
}

// TestDetailsOfCreate publishes details that only Create returns, although the next observation does not find the
// resource yet.
func TestDetailsOfCreate(t *testing.T) {
	mg := &role{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "reader", UID: "1"}}
	mg.Spec.WriteConnectionSecretToReference = &commonv1.LocalSecretReference{Name: "login"}
	s := scheme(corev1.AddToScheme)
	kube := clientfake.NewClientBuilder().WithScheme(s).WithObjects(mg).WithStatusSubresource(mg).Build()
	r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: s}, resource.ManagedKind(gv.WithKind("Role")),
		xp.WithExternalConnecter(&server{names: map[string]bool{}, blind: true}))

	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}); err != nil {
		t.Fatal(err)
	}

	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "db", Name: "login"}, secret); err != nil ||
		string(secret.Data["password"]) != "generated" {
		t.Errorf("the Secret holds %s, %v", secret.Data["password"], err)
	}
}

// TestPauseOfCrossplane leaves alone what was paused there.
func TestPauseOfCrossplane(t *testing.T) {
	mg := &role{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: "reader", UID: "1", Finalizers: []string{xp.FinalizerName},
		Annotations: map[string]string{"crossplane.io/paused": "true", "crossplane.io/external-name": "old"},
	}}
	s := scheme(corev1.AddToScheme)
	kube := clientfake.NewClientBuilder().WithScheme(s).WithObjects(mg).WithStatusSubresource(mg).Build()
	external := &server{names: map[string]bool{}}
	r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: s}, resource.ManagedKind(gv.WithKind("Role")),
		xp.WithExternalConnecter(external))

	passes(t, r, mg)

	if len(external.names) > 0 {
		t.Errorf("it was created: %v", external.names)
	}

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
		t.Fatal(err)
	}

	delete(mg.Annotations, "crossplane.io/paused")

	if err := kube.Update(t.Context(), mg); err != nil {
		t.Fatal(err)
	}

	passes(t, r, mg)

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(map[string]bool{"old": true}, external.names); diff != "" || meta.GetExternalName(mg) != "old" {
		t.Errorf("the external name is %q, and there are, -want, +got:\n%s", meta.GetExternalName(mg), diff)
	}

	if diff := cmp.Diff([]string{managed.FinalizerName}, mg.GetFinalizers()); diff != "" {
		t.Errorf("finalizers, -want, +got:\n%s", diff)
	}
}

func passes(t *testing.T, r *managed.Reconciler, mg client.Object) {
	t.Helper()

	for range 3 {
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}); err != nil {
			t.Fatal(err)
		}
	}
}

// entries are those of a change log.
type entries struct{ recorded []changelog.Entry }

func (e *entries) Record(_ context.Context, entry changelog.Entry) error {
	e.recorded = append(e.recorded, entry)

	return nil
}

// TestSecretOfAnother leaves a Secret alone that is not the object's.
func TestSecretOfAnother(t *testing.T) {
	s := scheme(corev1.AddToScheme)
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "login"},
		Data:       map[string][]byte{"password": []byte("theirs")},
	}
	kube := clientfake.NewClientBuilder().WithScheme(s).WithObjects(foreign).Build()
	mg := &grant{ObjectMeta: metav1.ObjectMeta{Name: "reader", UID: "1"}}
	mg.Spec.WriteConnectionSecretToReference = &xp.SecretReference{Namespace: "db", Name: "login"}

	published, err := xp.NewSecretPublisher(kube, kube, resource.ManagedKind(gv.WithKind("Grant"))).
		PublishConnection(t.Context(), mg, managed.ConnectionDetails{"password": []byte("ours")})
	if published || err == nil {
		t.Errorf("it is published: %v, %v", published, err)
	}

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil ||
		string(foreign.Data["password"]) != "theirs" {
		t.Errorf("the Secret of another holds %s, %v", foreign.Data["password"], err)
	}
}

// TestAdaptFails hands on an error of Connect.
func TestAdaptFails(t *testing.T) {
	broken := errors.New("no credentials")
	c := xp.Adapt[resource.Managed](xp.ExternalConnectorFn(func(context.Context,
		resource.Managed) (xp.ExternalClient, error) {
		return nil, broken
	}))

	if _, err := c.Connect(t.Context(), &role{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

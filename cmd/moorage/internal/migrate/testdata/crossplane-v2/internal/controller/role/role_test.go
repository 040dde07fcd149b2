package role

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"

	"example.org/provider-role/apis/v1alpha1"
	"example.org/provider-role/internal/sql"
)

var (
	_ resource.ModernManaged = &v1alpha1.Role{}
	_ managed.ExternalClient = &external{}
)

// TestCreateTells looks at what Create tells.
func TestCreateTells(t *testing.T) {
	e := &external{server: &sql.Server{}}
	mg := &v1alpha1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}

	got, err := e.Create(context.Background(), mg)
	if err != nil {
		t.Fatal(err)
	}

	want := managed.ExternalCreation{
		ConnectionDetails: managed.ConnectionDetails{"username": []byte(""), "password": []byte("secret of ")},
		AdditionalDetails: managed.AdditionalDetails{"limit": "0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestLife creates, changes and deletes a role.
func TestLife(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}

	role := &v1alpha1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: "db", UID: "1"}}
	role.SetProviderConfigReference(&xpv1.ProviderConfigReference{Kind: "ProviderConfig", Name: "default"})
	role.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: "login"})

	pc := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "db"}}
	pc.Spec.Credentials.Source = xpv1.CredentialsSourceSecret
	pc.Spec.Credentials.SecretRef = &xpv1.SecretKeySelector{SecretReference: xpv1.SecretReference{Name: "creds", Namespace: "db"}, Key: "dsn"}

	creds := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "creds", Namespace: "db"}, Data: map[string][]byte{"dsn": []byte("postgres://")}}
	kube := clientfake.NewClientBuilder().WithScheme(scheme).WithObjects(role, pc, creds).WithStatusSubresource(role).Build()
	mgr := &fake.Manager{Client: kube, Scheme: scheme}
	server := &sql.Server{}
	r := managed.NewReconciler(mgr, resource.ManagedKind(v1alpha1.RoleGroupVersionKind), Options(mgr, controller.Options{Logger: logging.NewNopLogger(), PollInterval: time.Minute}, server)...)
	key := client.ObjectKeyFromObject(role)

	pass := func() {
		t.Helper()

		for range 3 {
			if _, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
		}
	}

	pass()

	secret := &corev1.Secret{}
	if err := kube.Get(context.Background(), client.ObjectKey{Namespace: "db", Name: "login"}, secret); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(map[string][]byte{"username": []byte("reader"), "password": []byte("secret of reader")}, secret.Data); diff != "" {
		t.Errorf("the connection secret, -want, +got:\n%s", diff)
	}

	if err := kube.Get(context.Background(), key, role); err != nil {
		t.Fatal(err)
	}

	limit := int64(3)
	role.Spec.ForProvider.Limit = &limit

	if err := kube.Update(context.Background(), role); err != nil {
		t.Fatal(err)
	}

	pass()

	if got := server.Roles["reader"]; got != 3 {
		t.Errorf("the limit is %d", got)
	}

	if err := kube.Delete(context.Background(), role); err != nil {
		t.Fatal(err)
	}

	pass()

	if len(server.Roles) > 0 {
		t.Errorf("the roles are still there: %v", server.Roles)
	}
}

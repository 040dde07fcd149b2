package systemtest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// application returns a role, its database, a schema in it and a privilege of another role, each as a user applies it.
func application(namespace string) (role, reader *v1alpha1.Role, all []resource.Managed) {
	ref := func(name string) *commonv1.NamespacedReference { return &commonv1.NamespacedReference{Name: name} }
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	role = &v1alpha1.Role{ObjectMeta: meta("shop-owner"), Spec: v1alpha1.RoleSpec{
		WriteConnectionSecretToRef: &v1alpha1.SecretReference{Name: "shop"},
	}}
	reader = &v1alpha1.Role{ObjectMeta: meta("shop-reader")}
	database := &v1alpha1.Database{ObjectMeta: meta("shop")}
	database.Spec.ForProvider.OwnerRef = ref("shop-owner")
	schema := &v1alpha1.Schema{ObjectMeta: meta("orders")}
	schema.Spec.ForProvider = v1alpha1.SchemaParameters{DatabaseRef: ref("shop"), OwnerRef: ref("shop-owner")}
	grant := &v1alpha1.Grant{ObjectMeta: meta("reader")}
	grant.Spec.ForProvider = v1alpha1.GrantParameters{
		DatabaseRef: ref("shop"), RoleRef: ref("shop-reader"), Privileges: []v1alpha1.Privilege{"CONNECT"},
	}

	return role, reader, []resource.Managed{grant, schema, database, reader, role}
}

// TestApplication applies objects before those that they refer to. It rotates a password, and deletes everything at
// once.
func TestApplication(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	role, _, all := application(w.Namespace)
	for _, mg := range all {
		create(t, w, mg)
	}
	for _, mg := range all {
		w.Ready(t, mg)
	}
	before := secret(t, w)
	if !logsIn(t, w, before.Data["password"]) || string(before.Data["password"]) != string(before.Data["password-next"]) {
		t.Error("the application cannot log in with the password of its Secret")
	}
	rotate(t, w, role, before)

	for _, mg := range all {
		if err := w.Kube.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
	for _, mg := range all {
		w.Gone(t, mg)
	}
}

// rotate asks for another password, and logs in until it is there: at no moment is the application without one.
func rotate(t *testing.T, w testenv.World, role *v1alpha1.Role, before *corev1.Secret) {
	t.Helper()
	role.Spec.ForProvider.PasswordRotation = "2026-01"
	if err := w.Kube.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	w.Until(t, "there is another password", func() bool {
		has := secret(t, w)
		works := logsIn(t, w, has.Data["password"]) || logsIn(t, w, has.Data["password-next"])
		if now := secret(t, w); !works && now.ResourceVersion == has.ResourceVersion {
			t.Error("no password of the Secret works")
		}

		return string(has.Data["password"]) != string(before.Data["password"]) &&
			string(has.Data["password"]) == string(has.Data["password-next"])
	})
	if has := secret(t, w); !logsIn(t, w, has.Data["password"]) || logsIn(t, w, before.Data["password"]) {
		t.Error("the new password does not work, or the old one does")
	}
}

func secret(t *testing.T, w testenv.World) *corev1.Secret {
	t.Helper()
	out := &corev1.Secret{}
	if err := w.Kube.Get(t.Context(), ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "shop"}, out); err != nil {
		t.Fatal(err)
	}

	return out
}

// logsIn reports whether the owner of the shop can connect with a password.
func logsIn(t *testing.T, w testenv.World, password []byte) bool {
	t.Helper()
	conn, err := w.Server.Connect(t.Context(), "shop-owner", string(password), "shop")
	if err != nil {
		return false
	}
	_ = conn.Close(context.Background())

	return true
}

package systemtest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"example.org/provider-cloud/apis/v1alpha1"
	"example.org/provider-cloud/internal/testenv"
)

// TestCycleIsReported creates a Role and a Grant that refer to each other: each shows both. Once the Role has the value
// instead of the reference, as the message says, both become Ready.
func TestCycleIsReported(t *testing.T) {
	w := testenv.Start(t)
	ref := func(name string) *commonv1.NamespacedReference { return &commonv1.NamespacedReference{Name: name} }
	role := &v1alpha1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "reader"},
		Spec:       v1alpha1.RoleSpec{ForProvider: v1alpha1.RoleParameters{Size: 40, GrantRef: ref("reading")}},
	}
	grant := &v1alpha1.Grant{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "reading"},
		Spec:       v1alpha1.GrantSpec{ForProvider: v1alpha1.GrantParameters{Size: 40, RoleRef: ref("reader")}},
	}

	for _, mg := range []resource.Managed{role, grant} {
		if err := w.Kube.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}

	for _, mg := range []resource.Managed{role, grant} {
		w.Until(t, mg.GetName()+" reports the cycle", func() bool {
			if err := w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg); err != nil {
				t.Fatal(err)
			}

			synced := mg.GetCondition(commonv1.TypeSynced)

			return synced.Reason == commonv1.ReasonReferenceRefused && strings.Contains(synced.Message, "circular reference") &&
				strings.Contains(synced.Message, w.Namespace+"/reader") && strings.Contains(synced.Message, w.Namespace+"/reading")
		})
	}

	if n := len(w.Fake.Things("roles")) + len(w.Fake.Things("grants")); n > 0 {
		t.Errorf("%d things are in the API", n)
	}

	patch := ctrlclient.MergeFrom(role.DeepCopy())
	role.Spec.ForProvider.Grant, role.Spec.ForProvider.GrantRef = "reading", nil

	if err := w.Kube.Patch(t.Context(), role, patch); err != nil {
		t.Fatal(err)
	}

	w.Ready(t, role)
	w.Until(t, "the Grant is Ready", func() bool {
		if err := w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(grant), grant); err != nil {
			t.Fatal(err)
		}

		return grant.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})

	for _, mg := range []resource.Managed{grant, role} {
		if err := w.Kube.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}

		w.Gone(t, mg)
	}
}

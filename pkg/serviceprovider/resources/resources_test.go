package resources_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/serviceprovider/resources"
)

// TestSecret: a copy has the data that are wanted and no others, keeps what others have put on
// it, and is written only when something differs.
func TestSecret(t *testing.T) {
	writes := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			writes++
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, p, opts...)
		},
	}).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there", Labels: map[string]string{"theirs": "1"}},
		Data:       map[string][]byte{"old": []byte("x")},
	}).Build()
	for _, name := range []string{"new", "there"} {
		m := resources.NewSecretMutator(name, "ns", map[string][]byte{"k": []byte("v")}, corev1.SecretTypeOpaque)
		m.MetadataMutator().WithLabels(map[string]string{"ours": "2"}).WithAnnotations(map[string]string{"note": "3"})
		for range 2 {
			if err := resources.CreateOrUpdateResource(t.Context(), c, m); err != nil {
				t.Fatal(err)
			}
		}
		s, err := resources.GetResource(t.Context(), c, m)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{"ours": "2"}
		if name == "there" {
			labels["theirs"] = "1"
		}
		want := []any{map[string][]byte{"k": []byte("v")}, labels, map[string]string{"note": "3"},
			corev1.SecretTypeOpaque}
		if diff := cmp.Diff(want, []any{s.Data, s.Labels, s.Annotations, s.Type}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		for range 2 {
			if err := resources.DeleteResource(t.Context(), c, m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := resources.GetResource(t.Context(), c, m); !apierrors.IsNotFound(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if writes != 2 {
		t.Errorf("wrote %d times, want one for each", writes)
	}
}

// TestConfigMap: nil data leave those that are there; without metadata none are set.
func TestConfigMap(t *testing.T) {
	m := resources.NewConfigMapMutator("ca", "ns", nil)
	there := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	if err := m.Mutate(there); err != nil || there.Data["a"] != "b" || there.Labels != nil || there.Annotations != nil {
		t.Errorf("got %v, %v", there, err)
	}
	if err := resources.NewConfigMapMutator("ca", "ns", map[string]string{}).Mutate(there); err != nil ||
		len(there.Data) != 0 {
		t.Errorf("got %v, %v", there.Data, err)
	}
}

func Example() {
	c := fake.NewClientBuilder().Build()
	m := resources.NewConfigMapMutator("ca", "default", map[string]string{"ca.crt": "..."})
	m.MetadataMutator().WithLabels(map[string]string{"app": "backup"})
	fmt.Println(m, resources.CreateOrUpdateResource(context.Background(), c, m))
	// Output:
	// ConfigMap default/ca <nil>
}

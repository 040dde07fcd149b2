package bridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestDryRunApply verifies that the changes of an apply are recorded, including fields
// that it no longer contains, and that nothing is sent.
func TestDryRunApply(t *testing.T) {
	applied := func(data map[string]any) runtime.ApplyConfiguration {
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": target, "name": "a"}, "data": data,
		}})
	}
	cases := map[string]struct {
		reason string
		owner  string
		data   map[string]any
		want   []string
	}{
		"Same": {"An equal apply changes nothing.", "me", map[string]any{"one": "1", "two": "2"}, nil},
		"Changed": {
			"A different value is a change.", "me", map[string]any{"one": "1", "two": "3"}, []string{"change " + target +
				"/a: data.two"},
		},
		"Removed": {
			"A field that is no longer applied is removed.", "me", map[string]any{"one": "1"}, []string{"change " + target +
				"/a: data.two"},
		},
		"Other": {"A field of another manager is not removed.", "other", map[string]any{"one": "1"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			host := clientfake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().Build()
			if err := host.Apply(
				t.Context(), applied(map[string]any{"one": "1", "two": "2"}), client.FieldOwner("me")); err != nil {
				t.Fatal(err)
			}
			var changes []string
			if err := (dryRunClient{Client: host, changes: &changes}).Apply(
				t.Context(), applied(tc.data), client.FieldOwner(tc.owner), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, changes); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			now := &corev1.ConfigMap{}
			if err := host.Get(t.Context(), client.ObjectKey{Namespace: target, Name: "a"}, now); err != nil ||
				len(now.Data) != 2 {
				t.Errorf("%s\nsomething was sent: %v, %v", tc.reason, now.Data, err)
			}
		})
	}
}

const target = "tenants"

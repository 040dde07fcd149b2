package crdtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// kinds are all managed kinds, with the required fields of each.
func kinds() map[string]string {
	return map[string]string{
		v1alpha1.StreamKind: "{}", v1alpha1.KeyValueKind: "{}", v1alpha1.ObjectStoreKind: "{}",
		v1alpha1.ConsumerKind: "{stream: S}",
	}
}

// TestCommonFields: the common fields are the same for all kinds.
func TestCommonFields(t *testing.T) {
	cases := map[string]struct{ reason, asked, want string }{
		"Paused":     {"an empty list pauses", `managementPolicies: []`, ""},
		"ObserveAll": {"more than enough", `managementPolicies: ["*", Create]`, ""},
		"Observe":    {"only look", `managementPolicies: [Observe]`, ""},
		"Blind":      {"nothing can be done with what is not looked at", `managementPolicies: [Create]`, "add Observe, or *"},
		"Unknown":    {"there is no such action", `managementPolicies: [Observe, Destroy]`, `Unsupported value: "Destroy"`},
		"Twice":      {"a set", `managementPolicies: [Observe, Observe]`, "Duplicate value"},
		"Cluster":    {"either kind", `providerConfigRef: {kind: ClusterProviderConfig, name: a}`, ""},
		"OtherKind":  {"there is no such kind", `providerConfigRef: {kind: Secret, name: a}`, `Unsupported value: "Secret"`},
		"NoName":     {"which one?", `providerConfigRef: {name: ""}`, "should be at least 1 chars long"},
		"Secret":     {"in the same namespace", `writeConnectionSecretToRef: {name: a}`, ""},
		"NoSecret":   {"which one?", `writeConnectionSecretToRef: {}`, "Required value"},
	}

	for name, tc := range cases {
		for kind, parameters := range kinds() {
			t.Run(kind+name, func(t *testing.T) {
				obj := object(t, "kind: "+kind+"\nspec: {forProvider: "+parameters+", "+tc.asked+"}")
				check(t, tc.reason, dryRun(t, obj), tc.want)
			})
		}
	}
}

// TestDefaults: an empty spec gets the ProviderConfig "default", and allows everything. An empty list stays
// empty.
func TestDefaults(t *testing.T) {
	for kind, parameters := range kinds() {
		t.Run(kind, func(t *testing.T) {
			for asked, want := range map[string]map[string]any{
				"": {"providerConfigRef": map[string]any{"name": "default"}, "managementPolicies": []any{"*"}},
				", managementPolicies: []": {
					"providerConfigRef": map[string]any{"name": "default"}, "managementPolicies": []any{},
				},
				", managementPolicies: null": {
					"providerConfigRef": map[string]any{"name": "default"}, "managementPolicies": []any{"*"},
				},
			} {
				obj := object(t, "kind: "+kind+"\nspec: {forProvider: "+parameters+asked+"}")
				if err := dryRun(t, obj); err != nil {
					t.Fatal(err)
				}

				got, _, err := unstructured.NestedMap(obj.Object, "spec")
				if err != nil {
					t.Fatal(err)
				}

				delete(got, "forProvider")

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("spec%s: -want, +got:\n%s", asked, diff)
				}
			}
		})
	}
}

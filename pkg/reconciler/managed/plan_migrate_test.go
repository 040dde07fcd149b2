package managed

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWithoutFormer verifies which fields of a former kubectl apply are removed. That the API server and kubectl do the
// same is verified by provider-nats, for which fields have no keys.
func TestWithoutFormer(t *testing.T) {
	const annotation = `"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
	for name, c := range map[string]struct {
		reason string
		fields string // of spec, that the former kubectl apply has
		others string // of spec, that another field manager has
		spec   string
		want   string // none: no field is removed
	}{
		"leaf":   {"a value goes", `{"f:a":{}}`, `{"f:b":{}}`, `{"a":1,"b":2}`, `{"b":2}`},
		"shared": {"another field manager has it, too", `{"f:a":{}}`, `{"f:a":{}}`, `{"a":1}`, ""},
		"atomic": {
			"a list or an object that belongs to one goes", `{"f:a":{},"f:b":{}}`, `{}`, `{"a":[1],"b":{"c":1}}`, `{}`,
		},
		"nested": {
			"an object stays for the fields of others", `{"f:a":{".":{},"f:b":{}}}`, `{"f:a":{"f:c":{}}}`, `{"a":{"b":1,"c":2}}`,
			`{"a":{"c":2}}`,
		},
		"emptied": {"an object without fields goes", `{"f:a":{".":{},"f:b":{}}}`, `{}`, `{"a":{"b":1}}`, `{}`},
		"items": {
			"an item goes with its fields, if nobody else has it",
			`{"f:l":{".":{},"k:{\"n\":1}":{".":{},"f:n":{}},"k:{\"n\":2}":{".":{},"f:n":{},"f:x":{}}}}`,
			`{"f:l":{"k:{\"n\":2}":{".":{},"f:n":{}}}}`, `{"l":[{"n":1},{"n":2,"x":3}]}`, `{"l":[{"n":2}]}`,
		},
		"last item": {
			"a list without items goes", `{"f:l":{".":{},"k:{\"n\":1}":{".":{},"f:n":{}}}}`, `{}`, `{"l":[{"n":1}]}`, `{}`,
		},
		"set": {
			"an item of a set goes", `{"f:s":{"v:\"a\"":{},"v:2":{}}}`, `{"f:s":{"v:2":{}}}`, `{"s":["a",2,"c"]}`,
			`{"s":[2,"c"]}`,
		},
		"gone": {"a field that is not there is no matter", `{"f:a":{"f:b":{}}}`, `{}`, `{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			if err := json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"A","spec":`+c.spec+`}`), u); err != nil {
				t.Fatal(err)
			}
			set := func(text string) *metav1.FieldsV1 { return metav1.NewFieldsV1(text) }
			u.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: "old", Operation: metav1.ManagedFieldsOperationUpdate,
					FieldsV1: set(`{` + annotation + `,"f:spec":` + c.fields + `}`)},
				{Manager: "other", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: set(`{"f:spec":` + c.others + `}`)},
				{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: set(`{"f:spec":{".":{}}}`)},
			})
			left, err := withoutFormer(u, "kubectl")
			if err != nil {
				t.Fatal(err)
			}
			if left == nil {
				left = u
			}
			got, err := json.Marshal(left.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.spec
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestWithoutFormerOfNone verifies that an object that kubectl apply has not set is not changed, and an error.
func TestWithoutFormerOfNone(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`)}, {Manager: "b"}})
	if left, err := withoutFormer(u, "kubectl"); left != nil || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: metav1.NewFieldsV1(`{"f:spec":1}`)}})
	if _, err := withoutFormer(u, "kubectl"); err == nil {
		t.Error("fields that cannot be read are no error")
	}
}

package apicore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestApply(t *testing.T) {
	cases := map[string]struct {
		reason string
		patch  types.PatchType
		body   string
		want   map[string]any
		code   int32
	}{
		"Merge": {reason: "null removes, integers stay integers", patch: types.MergePatchType,
			body: `{"spec":{"size":2,"name":null}}`,
			want: map[string]any{"spec": map[string]any{"size": int64(2)}}},
		"MergeOfNoObject": {
			reason: "the body has to be an object", patch: types.MergePatchType, body: `[1]`,
			code: 400,
		},
		"Operations": {reason: "operations apply in order", patch: types.JSONPatchType,
			body: `[{"op":"test","path":"/spec/size","value":1},
				{"op":"replace","path":"/spec/size","value":2},{"op":"remove","path":"/spec/name"}]`,
			want: map[string]any{"spec": map[string]any{"size": int64(2)}}},
		"ReplaceOfNothing": {reason: "as in a real API server, replace adds a member that an object does not have",
			patch: types.JSONPatchType,
			body:  `[{"op":"replace","path":"/spec/class","value":"a"}]`,
			want:  map[string]any{"spec": map[string]any{"size": int64(1), "name": "a", "class": "a"}}},
		"TestFails": {
			reason: "a patch that does not apply is invalid for this object",
			patch:  types.JSONPatchType, body: `[{"op":"test","path":"/spec/size","value":2}]`,
			code: 422,
		},
		"RemoveOfNothing": {
			reason: "only what exists can be removed", patch: types.JSONPatchType,
			body: `[{"op":"remove","path":"/spec/class"}]`, code: 422,
		},
		"NoPatch": {
			reason: "an object is no list of operations", patch: types.JSONPatchType, body: `{}`,
			code: 400,
		},
		"Strategic": {
			reason: "custom resources have no patch strategies",
			patch:  types.StrategicMergePatchType, body: `{}`, code: 415,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			image := func() map[string]any {
				return map[string]any{"spec": map[string]any{"size": int64(1),
					"name": "a"}}
			}
			given := image()
			got, err := applyPatch(schema.GroupResource{Group: "example.org", Resource: "volumes"}, "data", given,
				tc.patch, []byte(tc.body))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			var code int32
			if status, ok := err.(kerrors.APIStatus); ok {
				code = status.Status().Code
			}
			if code != tc.code {
				t.Errorf("%s: got %d (%v), want %d", tc.reason, code, err, tc.code)
			}
			if diff := cmp.Diff(image(), given); diff != "" {
				t.Errorf("the image was changed: -want, +got:\n%s", diff)
			}
		})
	}
}

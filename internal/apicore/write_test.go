package apicore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

var volumes = Kind{
	GVK:      schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Volume"},
	Resource: schema.GroupResource{Group: "example.org", Resource: "volumes"},
	Custom:   true, HasStatus: true,
}

var errRefused = errors.New("refused")

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var image map[string]any
	if err := kjson.Unmarshal([]byte(text), &image); err != nil {
		t.Fatal(err)
	}

	return image
}

// compare fails the test unless the answer is the wanted image, or has the wanted code if there is none.
func compare(t *testing.T, reason, want string, code int32, got map[string]any, err error) {
	t.Helper()
	var status kerrors.APIStatus
	if errors.As(err, &status) != (code != 0) || code != 0 && status.Status().Code != code {
		t.Errorf("%s\ngot error %v, want code %d", reason, err, code)
	}
	if want == "" {
		return
	}
	if diff := cmp.Diff(parsed(t, want), got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}

func TestCreate(t *testing.T) {
	status, plain := volumes, volumes
	plain.HasStatus = false
	cases := map[string]struct {
		reason, given string
		kind          Kind
		want          string
		code          int32
	}{
		"Owned": {
			reason: "Only a server sets these, and empty metadata are none.", kind: status,
			given: `{"metadata":{"name":"a","uid":"x","generation":7,"creationTimestamp":null,"deletionTimestamp":"x",` +
				`"managedFields":[{}],"selfLink":"/a","resourceVersion":"","labels":{},"finalizers":[]},` +
				`"spec":{"size":1},"status":{"id":"x"}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a"},"spec":{"size":1}}`,
		},
		"Status": {
			reason: "A status that is no subresource is stored.", kind: plain, given: `{"metadata":{"name":"a"},"status":{}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a"},"status":{}}`,
		},
		"Generated": {
			reason: "The prefix of the name stays.", kind: status, given: `{"metadata":{"generateName":"a-"}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a-1","generateName":"a-"}}`,
		},
		"Version": {
			reason: "A new object has no version.", kind: status,
			given: `{"metadata":{"name":"a","resourceVersion":"1"}}`, code: 500,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			given := parsed(t, tc.given)
			got, err := tc.kind.Create(given, func(prefix string) string { return prefix + "1" },
				func(map[string]any) error { return nil })
			compare(t, tc.reason, tc.want, tc.code, got, err)
			if diff := cmp.Diff(parsed(t, tc.given), given); diff != "" {
				t.Errorf("the argument has changed:\n%s", diff)
			}
		})
	}
	_, err := volumes.Create(nil, nil, func(map[string]any) error { return errRefused })
	if !errors.Is(err, errRefused) {
		t.Errorf("a check that fails: got error %v", err)
	}
}

func TestUpdate(t *testing.T) {
	const stored = `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a","uid":"x","generation":3,` +
		`"resourceVersion":"5","finalizers":["example.org/a"]},"spec":{"size":1},"status":{"id":"i"}}`
	const deleted = `{"metadata":{"name":"a","resourceVersion":"5","deletionTimestamp":"t",` +
		`"finalizers":["example.org/a"]}}`
	cases := map[string]struct {
		reason, stored, given, sub, want string
		code                             int32
	}{
		"Spec": {
			reason: "The spec is another generation; the status and what a server sets stay.", stored: stored,
			given: `{"metadata":{"name":"a","generation":9,"creationTimestamp":"t","labels":{"a":"b"}},"spec":{"size":2}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a","uid":"x","generation":4,` +
				`"resourceVersion":"5","labels":{"a":"b"}},"spec":{"size":2},"status":{"id":"i"}}`,
		},
		"Status": {
			reason: "Only the status counts, and it is no generation.", stored: stored, sub: FieldStatus,
			given: `{"metadata":{"name":"b","uid":"y"},"spec":{"size":2}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a","uid":"x","generation":3,` +
				`"resourceVersion":"5","finalizers":["example.org/a"]},"spec":{"size":1}}`,
		},
		"Version": {
			reason: "The version is another one.", stored: stored,
			given: `{"metadata":{"name":"a","resourceVersion":"4"}}`, code: 409,
		},
		"UID": {
			reason: "A UID never changes.", stored: stored, given: `{"metadata":{"name":"a","uid":"y"}}`, code: 422,
		},
		"Finalizer": {
			reason: "An object that is being deleted gets no finalizer.", stored: deleted,
			given: `{"metadata":{"name":"a","finalizers":["example.org/a","example.org/b"]}}`, code: 422,
		},
		"LastFinalizer": {
			reason: "It may lose them.", stored: deleted, given: `{"metadata":{"name":"a","finalizers":null}}`,
			want: `{"apiVersion":"example.org/v1","kind":"Volume","metadata":{"name":"a","resourceVersion":"5",` +
				`"deletionTimestamp":"t"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := Update{
				Stored: parsed(t, tc.stored), Given: parsed(t, tc.given), Subresource: tc.sub,
				Check: func(map[string]any) error { return nil },
			}
			got, err := volumes.Update(u)
			compare(t, tc.reason, tc.want, tc.code, got, err)
			if diff := cmp.Diff([]any{parsed(t, tc.stored), parsed(t, tc.given)}, []any{u.Stored, u.Given}); diff != "" {
				t.Errorf("an argument has changed:\n%s", diff)
			}
		})
	}
}

// TestUpdateAdjusts verifies that a server may change the part of a request that counts before it is checked.
func TestUpdateAdjusts(t *testing.T) {
	checked := false
	got, err := volumes.Update(Update{
		Stored: volumes.Named(parsed(t, `{"metadata":{"name":"a","generation":1},"spec":{"size":1}}`)),
		Given:  parsed(t, `{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{"size":2}}`),
		Adjust: func(image map[string]any) map[string]any {
			delete(Metadata(image), "labels")
			image["spec"] = map[string]any{"size": int64(1)}

			return image
		},
		Check: func(image map[string]any) error {
			checked = Metadata(image)["labels"] == nil

			return nil
		},
	})
	compare(t, "Neither the labels nor the generation change.", `{"apiVersion":"example.org/v1","kind":"Volume",`+
		`"metadata":{"name":"a","generation":1},"spec":{"size":1}}`, 0, got, err)
	if !checked {
		t.Error("the request was checked before it was changed")
	}
}

func TestPatchKeepsName(t *testing.T) {
	stored := parsed(t, `{"metadata":{"name":"a"}}`)
	_, err := volumes.Patch(stored, types.MergePatchType, []byte(`{"metadata":{"name":"b"}}`))
	compare(t, "The name is that of the request.", "", 400, nil, err)
}

// TestCheckReplace verifies what a request to replace an object has to name. An empty text counts as none, as for an
// API server.
func TestCheckReplace(t *testing.T) {
	builtIn := Kind{GVK: volumes.GVK, Resource: volumes.Resource}
	for name, tc := range map[string]struct {
		reason, metadata string
		kind             Kind
		code             int32
	}{
		"Both":          {"The version is what it is based on.", `{"uid":"x","resourceVersion":"4"}`, volumes, 0},
		"NoUID":         {"The UID may be missing.", `{"resourceVersion":"5"}`, volumes, 0},
		"EmptyUID":      {"An empty UID is none.", `{"uid":"","resourceVersion":"5"}`, volumes, 0},
		"OtherUID":      {"It is another object.", `{"uid":"y","resourceVersion":"5"}`, volumes, 409},
		"NoVersion":     {"A custom resource is not replaced without a version.", `{}`, volumes, 422},
		"EmptyVersion":  {"An empty version is none.", `{"resourceVersion":""}`, volumes, 422},
		"BuiltIn":       {"A built-in one may be.", `{}`, builtIn, 0},
		"BuiltInsEmpty": {"Also with an empty version.", `{"resourceVersion":""}`, builtIn, 0},
	} {
		stored := parsed(t, `{"metadata":{"name":"a","uid":"x","resourceVersion":"5"}}`)
		err := tc.kind.CheckReplace(stored, parsed(t, `{"metadata":`+tc.metadata+`}`))
		compare(t, name+": "+tc.reason, "", tc.code, nil, err)
	}
}

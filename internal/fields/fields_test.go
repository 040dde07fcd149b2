package fields

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(op metav1.ManagedFieldsOperationType, version, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: "me", Operation: op, APIVersion: version, FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOf(t *testing.T) {
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	cases := map[string]struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"Applied": {"What was applied is owned.",
			[]metav1.ManagedFieldsEntry{entry(apply, "v1", `{"f:data":{}}`)}, true},
		"Updated": {"What was only updated is not owned through apply.",
			[]metav1.ManagedFieldsEntry{entry(update, "v1", `{"f:data":{}}`)}, false},
		"Stripped": {"Without entries the owners are unknown.", nil, false},
		"OtherVersion": {"Fields of another version may have other names.",
			[]metav1.ManagedFieldsEntry{entry(apply, "v2", `{}`)}, false},
		"Broken": {"With an unreadable entry the owners are unknown.",
			[]metav1.ManagedFieldsEntry{entry(apply, "v1", `{`)}, false},
	}
	for name, tc := range cases {
		if _, got := Of(tc.entries, "me", "v1"); got != tc.want {
			t.Errorf("%s: %s Got %t", name, tc.reason, got)
		}
	}
}

// TestBody makes the body of an apply from a change of an object.
func TestBody(t *testing.T) {
	const mine = `{"f:metadata":{"f:labels":{".":{},"f:a":{}}},` +
		`"f:spec":{"f:size":{},"f:list":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}}},"f:whole":{}}}`
	const before = `{"metadata":{"labels":{"a":"1","theirs":"2"}},` +
		`"spec":{"size":1,"list":[{"name":"x"}],"whole":{"p":1,"q":2},"other":true}}`
	cases := map[string]struct {
		reason  string
		others  string
		patch   string
		after   string
		removes bool
		body    string
	}{
		"Nothing": {
			reason: "What is owned stays in the body, and nothing else gets into it.", patch: `{}`, after: before,
			removes: true,
			body:    `{"metadata":{"labels":{"a":"1"}},"spec":{"size":1,"list":[{"name":"x"}],"whole":{"p":1,"q":2}}}`,
		},
		"Changed": {
			reason: "What was changed is in it, ours before or not.", patch: `{"spec":{"other":false,"size":2}}`,
			removes: true,
			after:   `{"metadata":{"labels":{"a":"1"}},"spec":{"size":2,"other":false}}`,
			body:    `{"metadata":{"labels":{"a":"1"}},"spec":{"size":2,"other":false}}`,
		},
		"Added": {
			reason: "So is what is new, with all of it.", patch: `{"metadata":{"annotations":{"n":"1"}},"data":{}}`,
			removes: true,
			after:   `{"metadata":{"annotations":{"n":"1"}},"data":{}}`,
			body:    `{"metadata":{"annotations":{"n":"1"}},"data":{}}`,
		},
		"Removed": {
			reason: "What is ours goes by not being in it.", patch: `{"metadata":{"labels":{"a":null}}}`, removes: true,
			after: `{"metadata":{"labels":{"theirs":"2"}}}`, body: `{"metadata":{"labels":{}}}`,
		},
		"RemovedWhole": {
			reason: "Also a whole map.", patch: `{"spec":{"whole":null}}`, after: `{}`,
			removes: true, body: `{}`,
		},
		"RemovedTheirs": {
			reason: "What is not ours does not go so.",
			patch:  `{"metadata":{"labels":{"theirs":null}}}`, after: `{}`,
		},
		"RemovedMixed": {
			reason: "Nor a map of which a part is not ours.",
			patch:  `{"metadata":{"labels":null}}`, after: `{}`,
		},
		"RemovedShared": {
			reason: "Nor a field with another owner.", patch: `{"spec":{"size":null}}`, after: `{}`,
			others: `{"f:spec":{"f:size":{}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entries := []metav1.ManagedFieldsEntry{entry(metav1.ManagedFieldsOperationApply, "v1", mine)}
			if tc.others != "" {
				entries = append(entries, entry(metav1.ManagedFieldsOperationUpdate, "v1", tc.others))
			}
			owners, known := Of(entries, "me", "v1")
			if !known {
				t.Fatal("nothing is owned")
			}
			patch, after := object(t, tc.patch), object(t, tc.after)
			if got := owners.Remove(patch, object(t, before)); got != tc.removes {
				t.Errorf("%s\nRemove: got %t", tc.reason, got)
			}
			if !tc.removes {
				return
			}
			body := owners.Mine.Project(after)
			Overlay(body, patch, after)
			if diff := cmp.Diff(object(t, tc.body), body); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPrune checks that a field that the manager stops applying is removed, unless it has another owner.
func TestPrune(t *testing.T) {
	const mine = `{"f:data":{".":{},"f:a":{},"f:b":{}},"f:spec":{"f:size":{},"f:list":{}}}`
	const now = `{"data":{"a":"1","b":"2"},"spec":{"size":1,"list":[1],"theirs":2},"status":{"x":1}}`
	cases := map[string]struct{ reason, body, others, want string }{
		"All": {"All that is applied stays.", now, "", now},
		"Field": {"What is left out goes.", `{"data":{"a":"1"},"spec":{"size":1,"list":[1]}}`, "",
			`{"data":{"a":"1"},"spec":{"size":1,"list":[1],"theirs":2},"status":{"x":1}}`},
		"Map": {"So does a whole map that is the manager's.", `{"spec":{"size":1,"list":[1]}}`, "",
			`{"spec":{"size":1,"list":[1],"theirs":2},"status":{"x":1}}`},
		"Mixed": {"Of a map that is left out, what is not the manager's stays.", `{"data":{"a":"1","b":"2"}}`,
			`{"f:spec":{"f:theirs":{}}}`, `{"data":{"a":"1","b":"2"},"spec":{"theirs":2},"status":{"x":1}}`},
		"Shared": {"A field with another owner stays.", `{"data":{"a":"1"},"spec":{"size":1,"list":[1]}}`,
			`{"f:data":{"f:b":{}}}`, now},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entries := []metav1.ManagedFieldsEntry{entry(metav1.ManagedFieldsOperationApply, "v1", mine)}
			if tc.others != "" {
				entries = append(entries, entry(metav1.ManagedFieldsOperationUpdate, "v1", tc.others))
			}
			owners, known := Of(entries, "me", "v1")
			if !known {
				t.Fatal("nothing is owned")
			}
			got := object(t, now)
			owners.Prune(got, object(t, tc.body))
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package objectjson

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestEqual verifies that objects are compared semantically: an empty map is no difference.
func TestEqual(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"the same":  {map[string]string{"a": "b"}, true},
		"another":   {map[string]string{"a": "c"}, false},
		"one fewer": {map[string]string{}, false},
	} {
		if got := Equal(bearing(map[string]string{"a": "b"}), bearing(tc.annotations)); got != tc.want {
			t.Errorf("%s: Equal(...) = %t, want %t", name, got, tc.want)
		}
	}
	if !Equal(bearing(nil), bearing(map[string]string{})) {
		t.Error("an empty map differs from none")
	}
}

// TestPatchTo verifies that a patch has all conditions or none.
func TestPatchTo(t *testing.T) {
	ready := []commonv1.Condition{{Type: commonv1.TypeReady, Reason: commonv1.ReasonAvailable}}
	synced := []commonv1.Condition{{Type: commonv1.TypeSynced, Reason: commonv1.ReasonReconcileSuccess}}
	cases := map[string]struct {
		reason   string
		from, to []commonv1.Condition
		want     map[string]any
	}{
		"None":    {"there are none", nil, nil, map[string]any{}},
		"Emptied": {"there are none, as a list or not", nil, []commonv1.Condition{}, map[string]any{}},
		"Same":    {"they are the same", ready, ready, map[string]any{}},
		"Changed": {"they are others", ready, synced, map[string]any{"conditions": synced}},
		"First":   {"they are the first", nil, ready, map[string]any{"conditions": ready}},
		"Last":    {"they were the last", ready, nil, map[string]any{"conditions": nil}},
	}
	for id, tc := range cases {
		from, to := Status{Conditions: tc.from}, Status{Conditions: tc.to}
		if diff := cmp.Diff(tc.want, from.PatchTo(to)); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", id, tc.reason, diff)
		}
	}
	from := Status{Fields: map[string]any{"a": "1", "b": "1"}}
	got := from.PatchTo(Status{Fields: map[string]any{"a": "1", "b": "2"}})
	if diff := cmp.Diff(map[string]any{"b": "2"}, got); diff != "" {
		t.Errorf("fields: -want +got:\n%s", diff)
	}
}

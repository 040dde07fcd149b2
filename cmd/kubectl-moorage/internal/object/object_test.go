package object_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

// of returns an object with annotations, management policies and a condition Synced.
func of(annotations map[string]string, policies []any, reason, message string) object.Object {
	u := &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Synced", "status": "False", "reason": reason, "message": message},
		}},
	}}
	u.SetAnnotations(annotations)

	if policies != nil {
		_ = unstructured.SetNestedSlice(u.Object, policies, "spec", "managementPolicies")
	}

	return object.Of(u)
}

func TestPaused(t *testing.T) {
	const (
		ours   = "krateo.io/paused"
		theirs = "crossplane.io/paused"
		says   = "paused by the annotation crossplane.io/paused: to resume, remove it"
	)

	cases := map[string]struct {
		reason string
		o      object.Object
		want   string
	}{
		"Ours":     {"our annotation", of(map[string]string{ours: "true"}, nil, "", ""), "the annotation " + ours},
		"False":    {"another value does not pause", of(map[string]string{ours: "yes"}, nil, "", ""), ""},
		"Policies": {"the empty list", of(nil, []any{}, "", ""), object.ByPolicies},
		"SomePolicies": {
			"another list does not pause", of(nil, []any{"Observe"}, "ReconcilePaused", ""), "",
		},
		"Theirs": {
			"the provider heeds it", of(map[string]string{theirs: "true"}, nil, "ReconcilePaused", says),
			"the annotation " + theirs,
		},
		"TheirsUnheeded": {
			"the provider does not heed it", of(map[string]string{theirs: "true"}, nil, "ReconcileSuccess", ""), "",
		},
		"TheirsOverridden": {
			"ours wins", of(map[string]string{theirs: "true", ours: "false"}, nil, "ReconcilePaused", says), "",
		},
		"Resumed": {
			"the provider has not seen yet that the annotation is gone", of(nil, nil, "ReconcilePaused", says), "",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.o.Paused(); got != tc.want {
				t.Errorf("%s: paused by %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOtherForms checks that fields of another form are ignored: the kind may be of another library.
func TestOtherForms(t *testing.T) {
	for name, status := range map[string]any{
		"None": nil, "Text": "ready", "List": []any{}, "Conditions": map[string]any{"conditions": map[string]any{"a": "b"}},
		"Elements": map[string]any{"conditions": []any{"Ready", int64(1)}, "drift": []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := object.Of(&unstructured.Unstructured{Object: map[string]any{"status": status}})
			if o.Managed() || o.Paused() != "" || len(o.Drift().Fields) > 0 || o.Handled() != "" {
				t.Errorf("the object is %+v", o.Conditions())
			}
		})
	}
}

// TestBrokenTimestamp checks that a condition whose time cannot be read hides neither itself nor the others.
func TestBrokenTimestamp(t *testing.T) {
	o := object.Of(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Synced", "status": "True", "lastTransitionTime": "yesterday"},
		map[string]any{"type": "Ready", "status": "False", "reason": "Creating", "observedGeneration": int64(3),
			"lastTransitionTime": "2026-11-28T11:55:00Z"},
	}}}})

	got := o.Conditions()
	if len(got) != 2 || got[0].Reason != "Creating" || got[0].ObservedGeneration != 3 ||
		got[0].LastTransitionTime.IsZero() ||
		!got[1].True() || !got[1].LastTransitionTime.IsZero() {
		t.Errorf("the conditions are %+v", got)
	}
}

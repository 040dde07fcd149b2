package managed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A driftReporter is a managed resource whose status has differences.
type driftReporter struct {
	fake.Managed
	commonv1.DriftStatus
}

func (d *driftReporter) DeepCopyObject() runtime.Object {
	out := &driftReporter{DriftStatus: *d.DriftStatus.DeepCopy()}
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	d.ConditionedStatus.DeepCopyInto(&out.ConditionedStatus)

	return out
}

var _ resource.DriftReporter = &driftReporter{}

// manyDifferences returns n differences, in the order of their paths.
func manyDifferences(n int) (out []commonv1.Difference) {
	for i := range n {
		out = append(out, commonv1.Difference{Path: fmt.Sprintf("field%03d", i), Desired: "1", Observed: "2"})
	}

	return out
}

func TestDifferencesOfAnObservation(t *testing.T) {
	const canary = "correct horse battery staple"
	reported := []commonv1.Difference{
		{Path: "subjects", Desired: `["a.>"]`, Observed: `["` + canary + `"]`}, {Path: "maxAge", Desired: "1"},
		{Path: "password", Desired: canary, Observed: "x"}, {Path: "maxAge", Desired: "1", Immutable: true},
	}
	cleaned := []commonv1.Difference{
		{Path: "maxAge", Desired: "1", Immutable: true}, {Path: "password", Sensitive: true},
		{Path: "subjects", Desired: `["a.>"]`, Observed: `["[REDACTED]"]`},
	}
	for name, tc := range map[string]struct {
		observation ExternalObservation
		want        *differences
	}{
		"Differs": {ExternalObservation{ResourceExists: true, Differences: reported}, &differences{fields: cleaned}},
		"UpToDate": {
			ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Differences: reported}, nil,
		},
		"Missing":   {ExternalObservation{Differences: reported}, nil},
		"OfAnother": {ExternalObservation{ResourceExists: true, Owner: OwnerOther, Differences: reported}, nil},
		"TooMany": {
			ExternalObservation{ResourceExists: true, Differences: manyDifferences(10_000)},
			&differences{fields: manyDifferences(64), more: 10_000 - 64},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStored(bearing(nil), &objectState{})
			redact.Conceal(redact.Collect(t.Context(), &w.secrets), []byte(canary))
			w.observation, w.observed = tc.observation, true
			if err := w.acceptObservation(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, w.differences, cmp.AllowUnexported(differences{})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestDifferencesAsText(t *testing.T) {
	long := manyDifferences(3)
	for i := range long {
		long[i].Path += strings.Repeat("x", 240)
	}
	two := []commonv1.Difference{{Path: "maxAge", Desired: "1"}, {Path: "password", Sensitive: true}}
	for name, tc := range map[string]struct {
		of                   differences
		names, updated, text string
	}{
		"None":    {},
		"Drifted": {of: differences{drifted: true}, updated: " (changed by others)"},
		"Two": {
			differences{fields: two, drifted: true}, "maxAge, password", ": maxAge, password (changed by others)",
			"maxAge: desired 1, observed none\npassword: sensitive",
		},
		"More": {
			of:    differences{fields: manyDifferences(10), more: 5},
			names: "field000, field001, field002, field003, field004, field005, field006, field007 and 7 more",
		},
		"Long": {of: differences{fields: long}, names: long[0].Path + ", " + long[1].Path + " and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.of.names(); got != tc.names {
				t.Errorf("names: %q, want %q", got, tc.names)
			}
			if got := tc.of.updated(); tc.updated != "" && got != tc.updated {
				t.Errorf("event: %q, want %q", got, tc.updated)
			}
			if got := tc.of.text(); tc.text != "" && got != tc.text {
				t.Errorf("log: %q, want %q", got, tc.text)
			}
		})
	}
}

func TestConditionNamesDifferences(t *testing.T) {
	d := differences{fields: manyDifferences(2)}
	for name, tc := range map[string]struct {
		of   commonv1.Condition
		want string
	}{
		"Restricted": {
			upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateRestricted).WithMessage(textTolerated),
			textTolerated + "; differs in field000, field001",
		},
		"Failed": {upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateFailed), "differs in field000, field001"},
		"True":   {upToDate(metav1.ConditionTrue, commonv1.ReasonObserveMatched), ""},
	} {
		if got := d.named(tc.of); got.Message != tc.want || got.Status != tc.of.Status || got.Reason != tc.of.Reason {
			t.Errorf("%s: %+v, want the message %q", name, got, tc.want)
		}
		if got := (*differences)(nil).named(tc.of); got != tc.of {
			t.Errorf("%s, without differences: %+v", name, got)
		}
	}
}

// TestDriftInStatus verifies when the differences are recorded in the status, kept and removed.
func TestDriftInStatus(t *testing.T) {
	stored := &commonv1.Drift{Fields: []commonv1.Difference{{Path: "a", Desired: "1", Observed: "3"}}}
	now := []commonv1.Difference{{Path: "a", Desired: "1", Observed: "2"}}
	other := []commonv1.Difference{{Path: "a", Desired: "2", Observed: "2"}}
	differs := outcome{upToDate: upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateRestricted)}
	matches := outcome{upToDate: upToDate(metav1.ConditionTrue, commonv1.ReasonObserveMatched)}
	for name, tc := range map[string]struct {
		stored *commonv1.Drift
		found  differences
		end    outcome
		age    time.Duration // of the last write
		want   *commonv1.Drift
	}{
		"First":  {nil, differences{fields: now}, differs, 0, &commonv1.Drift{Fields: now}},
		"Others": {stored, differences{fields: other}, differs, 0, &commonv1.Drift{Fields: other}},
		"Many": {
			nil, differences{fields: manyDifferences(20), more: 3}, differs, 0,
			&commonv1.Drift{Fields: manyDifferences(16), More: 7},
		},
		"ObservedSoon":  {stored, differences{fields: now}, differs, time.Minute, stored},
		"ObservedLater": {stored, differences{fields: now}, differs, time.Hour, &commonv1.Drift{Fields: now}},
		"ObservedFirst": {stored, differences{fields: now}, differs, -1, stored},
		"NotReported":   {stored, differences{}, differs, 0, nil},
		"Matches":       {stored, differences{}, matches, 0, nil},
		"NotObserved":   {stored, differences{}, outcome{}, 0, stored},
	} {
		t.Run(name, func(t *testing.T) {
			mg := &driftReporter{DriftStatus: commonv1.DriftStatus{Drift: tc.stored.DeepCopy()}}
			mg.SetConditions(differs.upToDate)
			p := passOf(mg, &objectState{}, WithVolatileStatusInterval(10*time.Minute))
			if tc.age >= 0 {
				p.state.VolatileWritten = noon.Add(-tc.age)
			}
			p.differences = &tc.found
			p.setUpToDate(tc.end)
			p.setDrift(tc.end)
			got, _ := p.mg.(resource.DriftReporter)
			if diff := cmp.Diff(tc.want, got.GetDrift()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if p.state.VolatileWritten.IsZero() {
				t.Error("the interval does not begin")
			}
		})
	}
}

// TestDriftForgetsSecrets verifies that a secret in the stored differences is removed as soon as it is known, also if
// nothing else has changed, and also in a pass that did not observe.
func TestDriftForgetsSecrets(t *testing.T) {
	const canary = "correct horse battery staple"
	long := strings.Repeat("x", 230) + canary[:11] + "... (truncated)"
	differs := outcome{upToDate: upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateRestricted)}
	for name, tc := range map[string]struct {
		stored, found commonv1.Difference
		end           outcome
		want          commonv1.Difference
	}{
		"Observed": {
			commonv1.Difference{Path: "note", Desired: "1", Observed: canary},
			commonv1.Difference{Path: "note", Desired: "1", Observed: canary}, differs,
			commonv1.Difference{Path: "note", Desired: "1", Observed: "[REDACTED]"},
		},
		"ChangedSince": {
			commonv1.Difference{Path: "note", Desired: "1", Observed: canary},
			commonv1.Difference{Path: "note", Desired: "1", Observed: "2"}, differs,
			commonv1.Difference{Path: "note", Desired: "1", Observed: "2"},
		},
		"Cut": {
			commonv1.Difference{Path: "note", Desired: "1", Observed: long},
			commonv1.Difference{Path: "note", Desired: "1", Observed: strings.Repeat("x", 230) + canary}, differs,
			commonv1.Difference{Path: "note", Desired: "1", Observed: strings.Repeat("x", 230) + "[REDACTED]"},
		},
		"Sensitive": {
			commonv1.Difference{Path: "note", Desired: "1", Observed: canary},
			commonv1.Difference{Path: "note", Sensitive: true}, differs,
			commonv1.Difference{Path: "note", Sensitive: true},
		},
		"NotObserved": {
			commonv1.Difference{Path: "note", Desired: canary, Observed: "x"}, commonv1.Difference{}, outcome{},
			commonv1.Difference{Path: "note", Desired: "[REDACTED]", Observed: "x"},
		},
		"NotObservedByName": {
			commonv1.Difference{Path: "password", Desired: "a", Observed: "b"}, commonv1.Difference{}, outcome{},
			commonv1.Difference{Path: "password", Sensitive: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mg := &driftReporter{DriftStatus: commonv1.DriftStatus{
				Drift: &commonv1.Drift{Fields: []commonv1.Difference{tc.stored}},
			}}
			mg.SetConditions(differs.upToDate)
			p := passOf(mg, &objectState{}, WithVolatileStatusInterval(10*time.Minute))
			p.state.VolatileWritten = noon
			redact.Conceal(redact.Collect(t.Context(), &p.secrets), []byte(canary))
			p.observation.Differences = []commonv1.Difference{tc.found}
			if p.acceptDifferences(false); tc.end.upToDate.Type == "" {
				p.differences = nil
			}
			p.setDrift(tc.end)
			got, _ := p.mg.(resource.DriftReporter)
			want := &commonv1.Drift{Fields: []commonv1.Difference{tc.want}}
			if diff := cmp.Diff(want, got.GetDrift()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

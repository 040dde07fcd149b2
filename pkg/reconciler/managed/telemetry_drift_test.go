package managed

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// sample is what a metric has, by the values of a label.
func sample(t *testing.T, g prometheus.Gatherer, name, label string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			at := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					at = l.GetValue()
				}
			}
			values[at] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()) +
				m.GetHistogram().GetSampleSum()
		}
	}

	return values
}

// TestWhatIsServedFromTheBeginning verifies that every outcome and class of failures is served at zero, so that
// alerts see increases.
func TestWhatIsServedFromTheBeginning(t *testing.T) {
	registry := prometheus.NewRegistry()
	madeWith(WithMetricsRegisterer(registry))
	var classes []string
	for _, c := range failureClasses {
		classes = append(classes, c.name)
	}
	for name, want := range map[string]struct {
		label  string
		values []string
	}{
		"moorage_managed_passes_total": {"outcome", outcomeNames()}, "moorage_managed_failures_total": {"class", classes},
	} {
		got := sample(t, registry, name, want.label)
		if len(got) != len(want.values) {
			t.Errorf("%s has %d series, want %d", name, len(got), len(want.values))
		}
		for _, value := range want.values {
			if n, there := got[value]; !there || n != 0 {
				t.Errorf("%s of %s is %v, there %t", name, value, n, there)
			}
		}
	}
	if !slices.Contains(outcomeNames(), "kept") || !slices.Contains(classes, "unauthorized") {
		t.Errorf("outcomes %v, classes %v", outcomeNames(), classes)
	}
}

// TestWhatAnObservationSaysOfADrift verifies that a drift is timed by the clock of the reconciler, excludes own
// changes, and that a deletion is timed from its timestamp.
func TestWhatAnObservationSaysOfADrift(t *testing.T) {
	same, differs := ExternalObservation{ResourceExists: true,
		ResourceUpToDate: true}, ExternalObservation{ResourceExists: true}
	cases := map[string]struct {
		acted bool
		found ExternalObservation
		want  map[string]float64
	}{
		"nothing has changed": {found: same, want: map[string]float64{"missing": 0, "changed": 0}},
		"somebody changed it": {found: differs, want: map[string]float64{"missing": 0, "changed": 1}},
		"somebody removed it": {
			found: ExternalObservation{ResourceUpToDate: true},
			want:  map[string]float64{"missing": 1, "changed": 0},
		},
		"our own change does not show": {
			acted: true, found: differs, want: map[string]float64{"missing": 0, "changed": 0},
		},
	}
	for name, tc := range cases {
		registry, clock := prometheus.NewRegistry(), testclock.NewFakePassiveClock(noon)
		p := endingPass(WithMetricsRegisterer(registry), WithClock(clock))
		p.r.telemetry.Begin(t.Context(), &p.state.counted, p.read)
		p.compare(same)
		clock.SetTime(noon.Add(time.Minute))
		p.mutated = tc.acted
		p.compare(tc.found)
		got := sample(t, registry, "moorage_managed_drifts_total", "what")
		for finding, n := range tc.want {
			if got[finding] != n {
				t.Errorf("%s: drifts %v, want %v", name, got, tc.want)
			}
		}
		p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		p.recordDeleted()
		if took := sample(t, registry, "moorage_managed_resource_deletion_seconds", "")[""]; took != 61 {
			t.Errorf("%s: one deletion of a minute is measured as %v", name, took-1)
		}
	}
}

// TestWhichCallsHaveLooked verifies that an observation or change marks the object as touched, and that a call is
// registered while it lasts.
func TestWhichCallsHaveLooked(t *testing.T) {
	for step, want := range map[telemetry.Step]bool{
		telemetry.Connect: false, telemetry.Observe: true, telemetry.Create: true, telemetry.Update: true,
		telemetry.Delete: true, telemetry.Disconnect: false,
	} {
		f := newPolled()
		watch := f.r.lists.Subscribe(f.member, f.now())
		watch.Begun(func() {}, f.now())
		watch.Changed("vol-1", f.now())
		if !f.r.lists.Notified(f.member) {
			t.Fatalf("%s: nobody knows that it has changed", step)
		}
		called := false
		err := f.instrument(t.Context(), step, func(context.Context) error {
			called = f.r.calls.begunBefore(noon.Add(time.Second)) == 1

			return nil
		})
		if err != nil || !called || f.r.calls.begunBefore(noon.Add(time.Second)) != 0 ||
			f.r.lists.Notified(f.member) == want {
			t.Errorf("%s: called %t, error %v, has looked %t, want %t", step, called, err,
				!f.r.lists.Notified(f.member), want)
		}
	}
}

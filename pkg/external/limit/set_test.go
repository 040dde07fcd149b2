package limit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestSet checks that gates are per name, and the metrics.
func TestSet(t *testing.T) {
	s := NewSet(WithRate(5, 1, 10), WithBreaker(1, time.Minute, time.Hour))
	a, b := s.Gate("a"), s.Gate("b")
	if a == b || a != s.Gate("a") {
		t.Error("want one gate for each name")
	}
	through(t, a, external.Throttled("", time.Minute, errBoom))
	through(t, b, external.Unavailable(errBoom))
	_, _ = refused(t, b, Request{Priority: User})

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	want := map[string]float64{
		"moorage_connection_rate a": 4, "moorage_connection_rate b": 5,
		"moorage_connection_open a": 1, "moorage_connection_open b": 0,
		"moorage_connection_waiting a": 0, "moorage_connection_waiting b": 0,
		"moorage_connection_in_flight a": 0, "moorage_connection_in_flight b": 0,
		"moorage_connection_calls_total a": 1, "moorage_connection_calls_total b": 1,
		"moorage_connection_throttled_total a": 1, "moorage_connection_throttled_total b": 0,
		"moorage_connection_held_total a": 0, "moorage_connection_held_total b": 1,
	}
	if diff := cmp.Diff(want, gather(t, registry), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	s.Drop("a")
	s.Drop("b")
	if got := gather(t, registry); len(got) != 0 {
		t.Errorf("want no metrics of dropped gates, got %v", got)
	}
	if s.Gate("a") == a {
		t.Error("want a new gate after Drop")
	}
}

func gather(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()

	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			got[family.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}

	return got
}

// TestNewRevisionIsProbed: a connection that is held is probed at once when its revision
// changes, and not before the interval otherwise. Listeners get each change once.
func TestNewRevisionIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified []string
		s := NewSet(WithNotify(func(s State) { notified = append(notified, "first "+s.Reason) }))
		stop := s.Listen(func(s State) { notified = append(notified, "second "+s.Reason) })
		through(t, s.GateOf("a", "1"), external.Unauthorized(errBoom))
		_, _ = refused(t, s.GateOf("a", "1"), Request{Priority: User})
		stop()
		through(t, s.GateOf("a", "2"), external.Unauthorized(errBoom))
		_, _ = refused(t, s.GateOf("a", "2"), Request{Priority: User})
		through(t, s.GateOf("a", "3"), nil)
		refusedAgain := s.GateOf("a", "3")
		through(t, refusedAgain, nil)
		want := fmt.Sprint([]string{"first Unauthorized", "second Unauthorized", "first Available"})
		if got := fmt.Sprint(notified); got != want {
			t.Errorf("notified of %v, want %v", got, want)
		}
		if state, ok := s.State("a"); !ok || !state.Open() || state.Calls != 4 {
			t.Errorf("state %+v, known %t", state, ok)
		}
		if _, ok := s.State("b"); ok {
			t.Error("there is a state of a connection that was never used")
		}
	})
}

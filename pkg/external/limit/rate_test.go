package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestRate checks the number of calls let through in a minute.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowGate()
		start := g.clock.Now()
		for range 61 {
			through(t, g, errBoom)
		}
		if took := g.clock.Since(start).Round(time.Millisecond); took != time.Minute {
			t.Errorf("want sixty calls after the first to take a minute, took %s", took)
		}
	})
}

// TestThrottledDecreasesRate: calls that were throttled together decrease the rate once.
// Nothing is called until Retry-After has passed, and then at the new rate.
func TestThrottledDecreasesRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 0.1, 100), WithMaxWait(time.Minute))
		var releases []func(error)
		for range 5 {
			release, err := g.Acquire(t.Context(), Request{Priority: User})
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		for _, release := range releases {
			release(external.Throttled("reads", 20*time.Second, errBoom))
			release(nil) // has no effect the second time
		}

		start := g.clock.Now()
		want := State{
			Reason: ReasonThrottled, Scope: "reads", Rate: 8, Resume: start.Add(20 * time.Second),
			Answered: true, Calls: 5, Throttled: 5,
		}
		if diff := cmp.Diff(want, g.State(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}

		var at []time.Duration
		for range 3 {
			through(t, g, errBoom)
			at = append(at, g.clock.Since(start).Round(5*time.Millisecond))
		}
		if diff := cmp.Diff([]time.Duration{20 * time.Second, 20125 * time.Millisecond, 20250 * time.Millisecond},
			at); diff != "" {
			t.Errorf("times of the next calls\n-want, +got:\n%s", diff)
		}

		<-time.After(2 * time.Minute)
		if got := g.State(); got.Reason != ReasonAvailable || !got.Resume.IsZero() {
			t.Errorf("want a system that has not throttled for a while to be available, got %+v", got)
		}
	})
}

// TestRateStaysInBounds drives the rate to its lower and its upper bound.
func TestRateStaysInBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 1, 12), WithMaxWait(time.Hour))
		for range 100 {
			through(t, g, external.Throttled("", 0, errBoom))
		}
		if got := g.State().Rate; got != 1 {
			t.Errorf("want the lowest rate, got %v", got)
		}
		start := g.clock.Now()
		for range 5000 {
			through(t, g, nil)
		}
		if got := g.State().Rate; got != 12 {
			t.Errorf("want the highest rate, got %v after %s", got, g.clock.Since(start))
		}
	})
}

// TestIdleDoesNotIncreaseRate: the rate only rises while calls have to wait.
func TestIdleDoesNotIncreaseRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New()
		for range 1000 {
			<-time.After(time.Second)
			through(t, g, nil)
		}
		if got := g.State().Rate; got != 10 {
			t.Errorf("want the first rate, got %v", got)
		}
	})
}

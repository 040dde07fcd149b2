package limit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

var errBoom = errors.New("boom")

// through makes a call that has to be let through at once.
func through(t *testing.T, g *Gate, err error) {
	t.Helper()

	release, got := g.Acquire(t.Context(), Request{Class: User})
	if got != nil {
		t.Fatalf("want to be let through, got %v", got)
	}
	release(err)
}

// refused makes a call that has to be held back, and returns for how long.
func refused(t *testing.T, g *Gate, r Request) (time.Duration, error) {
	t.Helper()

	release, err := g.Acquire(t.Context(), r)
	if err == nil {
		release(nil)
		t.Fatal("want to be held back, was let through")
	}
	if !IsHeld(err) || !external.IsNotCreated(err) {
		t.Errorf("want an error that is held and surely has not created anything, got %v", err)
	}
	after, ok := external.AsRetryAfter(err)
	if !ok {
		t.Errorf("want an error that says when to come back, got %v", err)
	}

	return after, err
}

// queue lets requests wait, one after the other, and returns them in the order in
// which they are let through.
func queue(t *testing.T, g *Gate, requests ...Request) func() []string {
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() {
			release, err := g.Acquire(t.Context(), r)
			if err != nil {
				t.Errorf("%s: %v", r.Object, err)

				return
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, r.Object)
			release(nil)
		})
		synctest.Wait()
		<-time.After(time.Microsecond)
	}

	return func() []string {
		all.Wait()

		return order
	}
}

// slow is a gate that lets one call per second through, however long it takes.
func slow(o ...Option) *Gate {
	return New(append([]Option{WithRate(1, 1, 1), WithPatience(time.Hour)}, o...)...)
}

func TestOrder(t *testing.T) {
	many := func(n int, r Request) []Request {
		var all []Request
		for i := range n {
			r.Object = fmt.Sprintf("%s%d", r.Namespace, i)
			all = append(all, r)
		}

		return all
	}

	cases := map[string]struct {
		reason   string
		requests []Request
		want     []string
	}{
		"Classes": {
			reason: "Users go first, polls last.",
			requests: []Request{
				{Object: "poll", Class: Poll},
				{Object: "retry", Class: Retry},
				{Object: "progress", Class: Progress},
				{Object: "user", Class: User},
				{Object: "beyond", Class: User + 5},
				{Object: "below", Class: Poll - 5},
			},
			want: []string{"user", "beyond", "progress", "retry", "poll", "below"},
		},
		"Namespaces": {
			reason:   "Namespaces take turns.",
			requests: append(many(4, Request{Namespace: "a"}), many(2, Request{Namespace: "b"})...),
			want:     []string{"a0", "b0", "a1", "b1", "a2", "a3"},
		},
		"Share": {
			reason:   "The tenth is of a lower class, and of it who has waited for longest.",
			requests: append([]Request{{Object: "retry", Class: Retry}, {Object: "progress", Class: Progress}}, many(11, Request{Namespace: "u", Class: User})...),
			want:     []string{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "retry", "u9", "u10", "progress"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := slow()
				through(t, g, nil)
				if diff := cmp.Diff(tc.want, queue(t, g, tc.requests...)()); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestReserve uses up with polls what may be called at once.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 10, 10), WithPatience(0))
		for range 9 {
			release, err := g.Acquire(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			release(nil)
		}
		_, _ = refused(t, g, Request{})
		through(t, g, nil)
	})
}

// TestRate counts what is let through in the long run.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := slow()
		start := g.clock.Now()
		for range 61 {
			through(t, g, errBoom)
		}
		if took := g.clock.Since(start).Round(time.Millisecond); took != time.Minute {
			t.Errorf("want sixty more calls in a minute, took %s", took)
		}
	})
}

// TestComplaints wants one fall for all calls that were too much at a time, and
// that nothing is called for as long as the system says, and then slowly.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 0.1, 100), WithPatience(time.Minute))
		var releases []func(error)
		for range 5 {
			release, err := g.Acquire(t.Context(), Request{Class: User})
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		for _, release := range releases {
			release(external.Throttled("reads", 20*time.Second, errBoom))
			release(nil) // a second time says nothing
		}

		start := g.clock.Now()
		want := State{Reason: ReasonThrottled, Scope: "reads", Rate: 8, Resume: start.Add(20 * time.Second), Calls: 5, Complaints: 5}
		if diff := cmp.Diff(want, g.State(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}

		var at []time.Duration
		for range 3 {
			through(t, g, errBoom)
			at = append(at, g.clock.Since(start).Round(5*time.Millisecond))
		}
		if diff := cmp.Diff([]time.Duration{20 * time.Second, 20125 * time.Millisecond, 20250 * time.Millisecond}, at); diff != "" {
			t.Errorf("when calls are made again\n-want, +got:\n%s", diff)
		}

		<-time.After(2 * time.Minute)
		if got := g.State(); got.Reason != ReasonAvailable || !got.Resume.IsZero() {
			t.Errorf("want a system that has not complained for a while to be available, got %+v", got)
		}
	})
}

// TestComplaintBounds keeps the rate within its bounds whatever happens.
func TestComplaintBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 1, 12), WithPatience(time.Hour))
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

// TestIdleDoesNotRaise wants a rate that nobody needs to stay.
func TestIdleDoesNotRaise(t *testing.T) {
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

// TestPatience tells those to come back who would wait, and wants them to come one
// by one, and before those who ask later.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := slow(WithPatience(1500 * time.Millisecond))
		through(t, g, nil)
		wait := queue(t, g, Request{Object: "first"})

		var after []time.Duration
		for i := range 3 {
			d, _ := refused(t, g, Request{Object: fmt.Sprint(i)})
			after = append(after, d.Round(time.Second))
			<-time.After(time.Millisecond)
		}
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second}, after); diff != "" {
			t.Errorf("when to come back\n-want, +got:\n%s", diff)
		}

		_, _ = refused(t, g, Request{Object: "0"})

		wait()
		late := queue(t, g, Request{Object: "later"}, Request{Object: "2"}, Request{Object: "0"})
		if diff := cmp.Diff([]string{"0", "2", "later"}, late()); diff != "" {
			t.Errorf("who goes first\n-want, +got:\n%s", diff)
		}
	})
}

// TestTurnsOfThoseWhoComeBack tells two namespaces when to come back, and wants
// the small one not to wait for all of the big one.
func TestTurnsOfThoseWhoComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithPatience(0))
		through(t, g, nil)

		var got []string
		for i, namespace := range []string{"big", "big", "big", "small", "small", "small", "big", "big"} {
			after, _ := refused(t, g, Request{Namespace: namespace, Object: fmt.Sprint(i)})
			got = append(got, namespace+" "+after.String())
		}
		want := []string{"big 1s", "big 2s", "big 3s", "small 1s", "small 3s", "small 5s", "big 4s", "big 5.75s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	})
}

// TestComingBackRaises wants a rate to rise that is too low for those who come back
// at the right time, and therefore never wait.
func TestComingBackRaises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 2), WithPatience(0))
		through(t, g, nil)
		for range 10 {
			after, _ := refused(t, g, Request{Class: User})
			<-time.After(after)
			through(t, g, nil)
		}
		if got := g.State().Rate; got < 1.1 {
			t.Errorf("want the rate to rise, got %v", got)
		}
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := slow()
		through(t, g, nil)

		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := g.clock.Now()
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || g.clock.Since(start) != 0 {
			t.Errorf("want to be told at once that the deadline comes first, got %v after %s", err, g.clock.Since(start))
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || !external.IsNotCreated(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("want a call that is held and cancelled, got %v", err)
		}
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("want a call that is held and cancelled, got %v", err)
		}

		through(t, g, nil)
		if got := g.clock.Since(start).Round(time.Millisecond); got != time.Second {
			t.Errorf("want those who gave up to take nothing, waited %s", got)
		}
		if got := g.State(); got.Waiting != 0 || got.InFlight != 0 {
			t.Errorf("want nobody left, got %+v", got)
		}
	})
}

// TestConcurrency has many call at once, and wants the sums to be right.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1000, 100, 1000), WithPatience(10*time.Millisecond))
		var calls, held atomic.Uint64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for n := range 200 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*time.Millisecond)
					release, err := g.Acquire(ctx, Request{Namespace: fmt.Sprint(i % 5), Object: fmt.Sprint(n), Class: Class(n % classes)})
					cancel()
					if err != nil {
						held.Add(1)
						<-time.After(time.Millisecond)

						continue
					}
					calls.Add(1)
					<-time.After(time.Millisecond)
					release([]error{nil, errBoom, external.Throttled("", 5*time.Millisecond, errBoom), context.Canceled}[n%4])
				}
			})
		}
		all.Wait()
		if got := g.State(); got.Calls != calls.Load() || got.InFlight != 0 || got.Waiting != 0 || calls.Load()+held.Load() != 50*200 {
			t.Errorf("want %d calls and %d held, nobody left; got %+v", calls.Load(), held.Load(), got)
		}
	})
}

// TestForget: who is gone keeps no place, and those who come after him come the sooner
// for it.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithPatience(0))
		through(t, g, nil)
		var last time.Duration
		for i := range 10 {
			last, _ = refused(t, g, Request{Namespace: "a", Object: fmt.Sprint(i)})
		}
		g.Forget(Request{Namespace: "a", Object: "nobody"})
		g.Forget(Request{Namespace: "nowhere", Object: "0"})
		for i := range 10 {
			g.Forget(Request{Namespace: "a", Object: fmt.Sprint(i)})
		}
		if got := len(g.absent.namespaces); got != 0 {
			t.Errorf("%d namespaces are remembered of those that are gone", got)
		}
		if next, _ := refused(t, g, Request{Namespace: "a", Object: "next"}); next >= last {
			t.Errorf("the next is told to come back in %s, as if the last one, after %s, would come too", next, last)
		}
	})
}

// TestNothingGrows lets many objects come, be told to come back, and never come.
func TestNothingGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(WithRate(1, 1, 1), WithPatience(0))
		g := s.Gate("a")
		for i := range 100_000 {
			r := Request{Namespace: fmt.Sprint(i % 100), Object: fmt.Sprint(i)}
			if release, err := g.Acquire(t.Context(), r); err == nil {
				release(nil)
			}
		}
		if got := len(g.absent.namespaces); got != 100 {
			t.Errorf("want a hundred namespaces to be remembered, got %d: nothing is tested", got)
		}
		<-time.After(2 * memory)
		through(t, g, nil)
		if got := len(g.absent.namespaces); got != 0 {
			t.Errorf("%d namespaces are left of nothing", got)
		}

		for i := range 1000 {
			s.Gate(fmt.Sprint(i))
		}
		<-time.After(2 * idle)
		s.Gate("b")
		if got := len(s.States()); got != 1 {
			t.Errorf("%d gates are left, want that in use", got)
		}
	})
}

func TestSet(t *testing.T) {
	s := NewSet(WithRate(5, 1, 10), WithBreaker(1, time.Minute, time.Hour))
	a, b := s.Gate("a"), s.Gate("b")
	if a == b || a != s.Gate("a") {
		t.Error("want one gate for each name")
	}
	through(t, a, external.Throttled("", time.Minute, errBoom))
	through(t, b, external.Unavailable(errBoom))
	_, _ = refused(t, b, Request{Class: User})

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
		t.Errorf("want nothing of what is gone, got %v", got)
	}
	if s.Gate("a") == a {
		t.Error("want another gate for another connection of the same name")
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

func TestOptions(t *testing.T) {
	g := New(WithRate(0, 1, 2), WithRate(3, 1, 2), WithPatience(-1), WithBreaker(0, 1, 1), WithBreaker(1, 2, 1), WithClock(nil), WithNotify(nil))
	want := New()
	if g.State().Rate != want.State().Rate || g.patience != want.patience || g.breaker != want.breaker || g.clock != want.clock || g.notify == nil {
		t.Errorf("want nonsense to change nothing, got %+v", g)
	}
}

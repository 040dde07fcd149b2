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

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

var errBoom = errors.New("boom")

// through makes a call that must be let through at once, and releases it with err.
func through(t *testing.T, g *Gate, err error) {
	t.Helper()

	release, got := g.Acquire(t.Context(), Request{Priority: User})
	if got != nil {
		t.Fatalf("want the call to be let through, got %v", got)
	}
	release(err)
}

// refused makes a call that must be held, and returns the delay until the retry and the
// error.
func refused(t *testing.T, g *Gate, r Request) (time.Duration, error) {
	t.Helper()

	release, err := g.Acquire(t.Context(), r)
	if err == nil {
		release(nil)
		t.Fatal("want the call to be held, was let through")
	}
	if !IsHeld(err) || !external.IsNotCreated(err) {
		t.Errorf("want an error that is held and not created, got %v", err)
	}
	after, ok := external.AsRetryAfter(err)
	if !ok {
		t.Errorf("want an error with a time to retry, got %v", err)
	}

	return after, err
}

// TestMaxWait: calls that would wait too long are held. They get different times to
// retry, and go before calls that are requested later.
func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowGate(WithMaxWait(1500 * time.Millisecond))
		through(t, g, nil)
		wait := enqueue(t, g, Request{Object: "first"})

		var after []time.Duration
		for i := range 3 {
			d, _ := refused(t, g, Request{Object: fmt.Sprint(i)})
			after = append(after, d.Round(time.Second))
			<-time.After(time.Millisecond)
		}
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second}, after); diff != "" {
			t.Errorf("times to retry\n-want, +got:\n%s", diff)
		}

		_, _ = refused(t, g, Request{Object: "0"})

		wait()
		late := enqueue(t, g, Request{Object: "later"}, Request{Object: "2"}, Request{Object: "0"})
		if diff := cmp.Diff([]string{"0", "2", "later"}, late()); diff != "" {
			t.Errorf("order of the calls\n-want, +got:\n%s", diff)
		}
	})
}

// TestContextEndsWait: a context that is canceled, or whose deadline comes before the
// call, ends the wait and uses no token.
func TestContextEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowGate()
		through(t, g, nil)

		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := g.clock.Now()
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || g.clock.Since(start) != 0 {
			t.Errorf("want the call to be held at once, as the deadline comes first, got %v after %s", err,
				g.clock.Since(start))
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || !external.IsNotCreated(err) ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("want a call that is held and canceled, got %v", err)
		}
		if _, err := g.Acquire(ctx, Request{}); !IsHeld(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("want a call that is held and canceled, got %v", err)
		}

		through(t, g, nil)
		if got := g.clock.Since(start).Round(time.Millisecond); got != time.Second {
			t.Errorf("want canceled calls to use no token, waited %s", got)
		}
		if got := g.State(); got.Waiting != 0 || got.InFlight != 0 {
			t.Errorf("want no waiting calls left, got %+v", got)
		}
	})
}

// TestConcurrency makes many calls concurrently, and checks the counters.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1000, 100, 1000), WithMaxWait(10*time.Millisecond))
		var calls, held atomic.Uint64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for n := range 200 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*time.Millisecond)
					release, err := g.Acquire(ctx, Request{
						Namespace: fmt.Sprint(i % 5), Object: fmt.Sprint(n),
						Priority: Priority(n % priorities),
					})
					cancel()
					if err != nil {
						held.Add(1)
						<-time.After(time.Millisecond)

						continue
					}
					calls.Add(1)
					<-time.After(time.Millisecond)
					release([]error{nil, errBoom, external.Throttled("", 5*time.Millisecond, errBoom),
						context.Canceled}[n%4])
				}
			})
		}
		all.Wait()
		if got := g.State(); got.Calls != calls.Load() || got.InFlight != 0 || got.Waiting != 0 ||
			calls.Load()+held.Load() != 50*200 {
			t.Errorf("want %d calls and %d held, none left; got %+v", calls.Load(), held.Load(), got)
		}
	})
}

// TestWaitTimesOut: a call that waits while others of higher priority go ahead again and
// again is held after a while, so that it does not occupy a worker.
func TestWaitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithMaxWait(time.Second))
		through(t, g, nil)
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := g.Acquire(t.Context(), Request{Object: "poll"})
			if _, ok := external.AsRetryAfter(err); !ok || !IsHeld(err) {
				t.Errorf("want a held error with a time to retry, got %v", err)
			}
			if waited := time.Since(begun); waited != 3*time.Second {
				t.Errorf("a poll waited %s, want three times the maximal wait", waited)
			}
		})
		for range 8 {
			synctest.Wait()
			through(t, g, nil) // goes first, a second later
		}
		all.Wait()
	})
}

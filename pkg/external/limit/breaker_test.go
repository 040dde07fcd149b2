package limit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestSystemIsDown polls a hundred objects of a system that is down for ten
// minutes, and wants a probe every ten seconds and not one per object.
func TestSystemIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		g := New(WithRate(100, 10, 100), WithBreaker(5, 10*time.Second, 10*time.Second),
			WithNotify(func(s State) { told = append(told, s.Reason) }))
		c := clock.RealClock{}
		from, to := c.Now().Add(time.Minute), c.Now().Add(11*time.Minute)
		end := to.Add(time.Minute)

		var mu sync.Mutex
		failed, served := 0, 0
		var back time.Time
		call := func(r Request) time.Duration {
			release, err := g.Acquire(t.Context(), r)
			if err != nil {
				after, _ := external.AsRetryAfter(err)

				return after
			}
			<-time.After(latency)
			mu.Lock()
			defer mu.Unlock()
			if now := c.Now(); now.After(from) && now.Before(to) {
				failed++
				release(external.Unavailable(errBoom))

				return time.Second
			} else if now.After(to) {
				served++
				if back.IsZero() {
					back = now
				}
			}
			release(nil)

			return 10 * time.Second
		}
		var all sync.WaitGroup
		for i := range objects {
			all.Go(func() {
				<-time.After(time.Duration(i) * 100 * time.Millisecond)
				for c.Now().Before(end) {
					<-time.After(call(Request{Object: fmt.Sprint(i)}))
				}
			})
		}
		all.Wait()

		// Five are needed to see it; then there is one in each ten seconds, which takes
		// its time too.
		if failed < 5+58 || failed > 5+61 {
			t.Errorf("a system that is down got %d calls in ten minutes, want five and one in ten seconds", failed)
		}
		if late := back.Sub(to); late > 11*time.Second {
			t.Errorf("it was noticed %s late that the system works", late)
		}
		if served < 4*objects {
			t.Errorf("%d calls in the minute after that, want about six for each of %d objects", served, objects)
		}
		if diff := cmp.Diff([]string{ReasonUnavailable, ReasonAvailable}, told); diff != "" {
			t.Errorf("what is told of it\n-want, +got:\n%s", diff)
		}
	})
}

func TestBreaker(t *testing.T) {
	unavailable := external.Unavailable(errBoom)
	unauthorized := external.Unauthorized(errBoom)

	cases := map[string]struct {
		reason string
		calls  []error
		want   string
		resume time.Duration
	}{
		"Works":         {reason: "What is answered is no failure, whatever the answer.", calls: []error{errBoom, errBoom, errBoom, external.NotFound(errBoom)}, want: ReasonAvailable},
		"Few":           {reason: "It takes some in a row.", calls: []error{unavailable, unavailable}, want: ReasonAvailable},
		"Apart":         {reason: "An answer in between counts.", calls: []error{unavailable, unavailable, nil, unavailable, unavailable}, want: ReasonAvailable},
		"Row":           {reason: "Three in a row.", calls: []error{unavailable, unavailable, unavailable}, want: ReasonUnavailable, resume: 10 * time.Second},
		"Hangs":         {reason: "Nor does it work if nobody answers.", calls: []error{unavailable, context.DeadlineExceeded, context.DeadlineExceeded}, want: ReasonUnavailable, resume: 10 * time.Second},
		"Cancelled":     {reason: "Nobody knows what was cancelled.", calls: []error{unavailable, unavailable, context.Canceled}, want: ReasonAvailable},
		"Told":          {reason: "The system may say for how long.", calls: []error{unavailable, unavailable, external.RetryAfter(time.Minute, unavailable)}, want: ReasonUnavailable, resume: time.Minute},
		"ToldLess":      {reason: "But not for less.", calls: []error{unavailable, unavailable, external.RetryAfter(time.Second, unavailable)}, want: ReasonUnavailable, resume: 10 * time.Second},
		"ToldNonsense":  {reason: "Nor for a year.", calls: []error{unavailable, unavailable, external.RetryAfter(365*24*time.Hour, unavailable)}, want: ReasonUnavailable, resume: external.MaxRetryAfter},
		"Credentials":   {reason: "Credentials are bad at once.", calls: []error{unauthorized}, want: ReasonUnauthorized, resume: 10 * time.Second},
		"TooManyAtOnce": {reason: "A system that complains works.", calls: []error{unavailable, unavailable, external.Throttled("", time.Second, errBoom), unavailable}, want: ReasonThrottled, resume: time.Second},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(WithBreaker(3, 10*time.Second, time.Hour))
				var releases []func(error)
				for range tc.calls {
					release, err := g.Acquire(t.Context(), Request{Class: User})
					if err != nil {
						t.Fatal(err)
					}
					releases = append(releases, release)
				}
				for i, release := range releases {
					release(tc.calls[i])
				}

				got := g.State()
				if diff := cmp.Diff(tc.want, got.Reason); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
				if open := tc.want == ReasonAvailable || tc.want == ReasonThrottled; got.Open() != open {
					t.Errorf("%s\nwant open %t, got %t", tc.reason, open, got.Open())
				}
				var resume time.Duration
				if !got.Resume.IsZero() {
					resume = got.Resume.Sub(g.clock.Now())
				}
				if diff := cmp.Diff(tc.resume, resume); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestHeldReason wants what is held back to say why.
func TestHeldReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New()
		through(t, g, external.Unauthorized(errBoom))
		after, err := refused(t, g, Request{Class: User})
		if !external.IsUnauthorized(err) || external.IsUnavailable(err) || after != 10*time.Second {
			t.Errorf("want credentials that are not accepted for %s, got %v for %s", 10*time.Second, err, after)
		}

		g = New(WithBreaker(1, time.Minute, time.Hour))
		through(t, g, external.Unavailable(errBoom))
		after, err = refused(t, g, Request{Class: User})
		if !external.IsUnavailable(err) || external.IsUnauthorized(err) || after != time.Minute {
			t.Errorf("want a system that is unavailable for %s, got %v for %s", time.Minute, err, after)
		}
	})
}

// TestProbe follows a breaker through its probes.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithBreaker(1, 10*time.Second, 30*time.Second))
		wait := queue(t, g, Request{Object: "waits"})
		wait()
		through(t, g, external.Unavailable(errBoom))

		for _, d := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			<-time.After(d - time.Second)
			if after, _ := refused(t, g, Request{Class: User}); after != time.Second {
				t.Errorf("want the next probe in a second, got %s", after)
			}
			<-time.After(time.Second)
			release, err := g.Acquire(t.Context(), Request{})
			if err != nil {
				t.Fatalf("want a probe after %s, got %v", d, err)
			}
			if after, _ := refused(t, g, Request{Class: User}); after != soon {
				t.Errorf("want to come back soon while there is a probe, got %s", after)
			}
			release(external.Unavailable(errBoom))
		}

		<-time.After(30 * time.Second)
		release, err := g.Acquire(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		release(context.Canceled)
		if after, _ := refused(t, g, Request{Class: User}); after != 30*time.Second {
			t.Errorf("want another probe when one was cancelled, in %s, got %s", 30*time.Second, after)
		}

		<-time.After(30 * time.Second)
		if _, err := g.Acquire(t.Context(), Request{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Second)
		through(t, g, nil) // the one before is lost
		if got := g.State().Reason; got != ReasonAvailable {
			t.Errorf("want a system that answers to be available, got %s", got)
		}
		g.patience = 0
		through(t, g, nil)
		if after, _ := refused(t, g, Request{Class: User}); after != 100*time.Millisecond {
			t.Errorf("want a system that works again to be called slowly, got %s to the next call", after)
		}
	})
}

// TestWaitersLeaveWhenShut tells those who wait to come back when the system turns
// out to be down, and lets nobody through because of an answer from before.
func TestWaitersLeaveWhenShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := slow(WithBreaker(1, 10*time.Second, time.Hour), WithRate(3, 1, 3))
		var before [3]func(error)
		for i := range before {
			var err error
			if before[i], err = g.Acquire(t.Context(), Request{Class: User}); err != nil {
				t.Fatal(err)
			}
		}
		errs := make(chan error, 3)
		for i := range cap(errs) {
			go func() {
				_, err := g.Acquire(t.Context(), Request{Object: fmt.Sprint(i)})
				errs <- err
			}()
		}
		synctest.Wait()
		before[0](external.Unavailable(errBoom))
		for range cap(errs) {
			if err := <-errs; !IsHeld(err) || !external.IsUnavailable(err) {
				t.Errorf("want those who wait to be told, got %v", err)
			}
		}
		before[1](nil)
		before[2](external.Unavailable(errBoom))
		if after, _ := refused(t, g, Request{Class: User}); after != 10*time.Second {
			t.Errorf("want what was called before to say nothing, got a probe in %s", after)
		}
	})
}

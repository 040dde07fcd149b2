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

// TestOutageIsProbed polls a hundred objects of a system that is down for ten minutes:
// the connection is probed every ten seconds, not once for each object.
func TestOutageIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notified []string
		g := New(WithRate(100, 10, 100), WithBreaker(5, 10*time.Second, 10*time.Second),
			WithNotify(func(s State) { notified = append(notified, s.Reason) }))
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

		// Five failures trip the breaker; then there is one probe in ten seconds, and each
		// probe takes some time, too.
		if failed < 5+58 || failed > 5+61 {
			t.Errorf("got %d calls during an outage of ten minutes, want five and one in ten seconds", failed)
		}
		if late := back.Sub(to); late > 11*time.Second {
			t.Errorf("the end of the outage was noticed %s late", late)
		}
		if served < 4*objects {
			t.Errorf("%d calls in the minute after the outage, want about six for each of %d objects", served, objects)
		}
		if diff := cmp.Diff([]string{ReasonAvailable, ReasonUnavailable, ReasonAvailable}, notified); diff != "" {
			t.Errorf("notifications\n-want, +got:\n%s", diff)
		}
	})
}

// TestBreaker checks which results of calls trip the breaker, and for how long.
func TestBreaker(t *testing.T) {
	unavailable := external.Unavailable(errBoom)
	unauthorized := external.Unauthorized(errBoom)

	cases := map[string]struct {
		reason string
		calls  []error
		want   string
		resume time.Duration
	}{
		"Answers": {
			reason: "An answer is no failure, whatever it says.",
			calls:  []error{errBoom, errBoom, errBoom, external.NotFound(errBoom)},
			want:   ReasonAvailable,
		},
		"BelowThreshold": {
			reason: "Two failures in a row are too few.", calls: []error{unavailable, unavailable},
			want: ReasonAvailable,
		},
		"NotConsecutive": {
			reason: "An answer in between resets the count.",
			calls:  []error{unavailable, unavailable, nil, unavailable, unavailable},
			want:   ReasonAvailable,
		},
		"Threshold": {
			reason: "Three failures in a row trip the breaker.", calls: []error{unavailable, unavailable, unavailable},
			want: ReasonUnavailable, resume: 10 * time.Second,
		},
		"Deadline": {
			reason: "A call without an answer is a failure, too.",
			calls:  []error{unavailable, context.DeadlineExceeded, context.DeadlineExceeded},
			want:   ReasonUnavailable, resume: 10 * time.Second,
		},
		"Cancelled": {
			reason: "A canceled call proves nothing.",
			calls:  []error{unavailable, unavailable, context.Canceled}, want: ReasonAvailable,
		},
		"RetryAfter": {
			reason: "The system may ask for a longer interval.",
			calls:  []error{unavailable, unavailable, external.RetryAfter(time.Minute, unavailable)},
			want:   ReasonUnavailable, resume: time.Minute,
		},
		"ShortRetryAfter": {
			reason: "It cannot ask for a shorter one.",
			calls:  []error{unavailable, unavailable, external.RetryAfter(time.Second, unavailable)},
			want:   ReasonUnavailable, resume: 10 * time.Second,
		},
		"LongRetryAfter": {
			reason: "Nor for one of a year.",
			calls:  []error{unavailable, unavailable, external.RetryAfter(365*24*time.Hour, unavailable)},
			want:   ReasonUnavailable, resume: external.MaxRetryAfter,
		},
		"Credentials": {
			reason: "One answer is enough to reject credentials.", calls: []error{unauthorized},
			want: ReasonUnauthorized, resume: 10 * time.Second,
		},
		"Throttled": {
			reason: "A system that throttles works.",
			calls:  []error{unavailable, unavailable, external.Throttled("", time.Second, errBoom), unavailable},
			want:   ReasonThrottled, resume: time.Second,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(WithBreaker(3, 10*time.Second, time.Hour))
				var releases []func(error)
				for range tc.calls {
					release, err := g.Acquire(t.Context(), Request{Priority: User})
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

// TestHeldErrorHasCause: the error of a held call has the mark of the cause.
func TestHeldErrorHasCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New()
		through(t, g, external.Unauthorized(errBoom))
		after, err := refused(t, g, Request{Priority: User})
		if !external.IsUnauthorized(err) || external.IsUnavailable(err) || after != 10*time.Second {
			t.Errorf("want unauthorized for %s, got %v for %s", 10*time.Second, err, after)
		}

		g = New(WithBreaker(1, time.Minute, time.Hour))
		through(t, g, external.Unavailable(errBoom))
		after, err = refused(t, g, Request{Priority: User})
		if !external.IsUnavailable(err) || external.IsUnauthorized(err) || after != time.Minute {
			t.Errorf("want unavailable for %s, got %v for %s", time.Minute, err, after)
		}
	})
}

// TestProbe checks the probes of a breaker: the backoff between them, and that a probe
// which is canceled or lost is repeated.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithBreaker(1, 10*time.Second, 30*time.Second))
		enqueue(t, g, Request{Object: "waits"})()
		through(t, g, external.Unavailable(errBoom))

		for _, d := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			<-time.After(d - time.Second)
			if after, _ := refused(t, g, Request{Priority: User}); after != time.Second {
				t.Errorf("want the next probe in a second, got %s", after)
			}
			<-time.After(time.Second)
			release, err := g.Acquire(t.Context(), Request{})
			if err != nil {
				t.Fatalf("want a probe after %s, got %v", d, err)
			}
			if after, _ := refused(t, g, Request{Priority: User}); after != probeRecheck {
				t.Errorf("want a retry in a second while there is a probe, got %s", after)
			}
			release(external.Unavailable(errBoom))
		}

		<-time.After(30 * time.Second)
		release, err := g.Acquire(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		release(context.Canceled)
		if after, _ := refused(t, g, Request{Priority: User}); after != 30*time.Second {
			t.Errorf("want another probe %s after one was canceled, got %s", 30*time.Second, after)
		}

		<-time.After(30 * time.Second)
		if _, err := g.Acquire(t.Context(), Request{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Second)
		through(t, g, nil) // the probe before is lost
		if got := g.State().Reason; got != ReasonAvailable {
			t.Errorf("want a system that answers to be available, got %s", got)
		}
		g.maxWait = 0
		through(t, g, nil)
		if after, _ := refused(t, g, Request{Priority: User}); after != 100*time.Millisecond {
			t.Errorf("want no burst after the outage, got %s to the next call", after)
		}
	})
}

// TestBreakerRejectsWaiters: a breaker that trips rejects the calls that wait, and ignores
// the results of calls that were let through before.
func TestBreakerRejectsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowGate(WithBreaker(1, 10*time.Second, time.Hour), WithRate(3, 1, 3))
		var before [3]func(error)
		for i := range before {
			var err error
			if before[i], err = g.Acquire(t.Context(), Request{Priority: User}); err != nil {
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
				t.Errorf("want waiting calls to be held as unavailable, got %v", err)
			}
		}
		before[1](nil)
		before[2](external.Unavailable(errBoom))
		if after, _ := refused(t, g, Request{Priority: User}); after != 10*time.Second {
			t.Errorf("want results of earlier calls to be ignored, got a probe in %s", after)
		}
	})
}

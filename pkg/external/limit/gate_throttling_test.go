package limit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

var errTooMany = errors.New("429 too many requests")

const (
	// objects is the number of polled objects. Every tenth is in the quiet namespace.
	objects = 100
	// latency is the duration of a call.
	latency = 50 * time.Millisecond
)

// quota is the rate limit of an external system.
type quota interface {
	// call serves a call, or returns false and a Retry-After in whole seconds.
	call(now time.Time) (retryAfter time.Duration, ok bool)
	// allows returns how many calls are served between two times.
	allows(from, to time.Time) float64
}

// bucket is a quota with tokens that are refilled steadily.
type bucket struct {
	rate, size, tokens float64
	last               time.Time
}

func (b *bucket) call(now time.Time) (time.Duration, bool) {
	b.tokens = min(b.tokens+b.rate*now.Sub(b.last).Seconds(), b.size)
	b.last = now
	if b.tokens < 1 {
		return time.Duration(math.Ceil((1-b.tokens)/b.rate)) * time.Second, false
	}
	b.tokens--

	return 0, true
}

func (b *bucket) allows(from, to time.Time) float64 { return b.rate * to.Sub(from).Seconds() }

// window is a quota of calls per fixed window of time.
type window struct {
	length time.Duration
	calls  int

	begun time.Time
	made  int
}

func (w *window) call(now time.Time) (time.Duration, bool) {
	if now.Sub(w.begun) >= w.length {
		w.begun, w.made = now.Truncate(w.length), 0
	}
	if w.made == w.calls {
		return w.begun.Add(w.length).Sub(now), false
	}
	w.made++

	return 0, true
}

func (w *window) allows(from, to time.Time) float64 {
	return float64(w.calls) * to.Sub(from).Seconds() / w.length.Seconds()
}

// load makes calls through a gate against a quota, and counts them.
type load struct {
	gate  *Gate
	quota quota
	clock clock.Clock

	mu       sync.Mutex
	first    time.Time // the first throttled call
	served   int
	refused  int
	byObject map[string]int
}

// call makes a call through the gate as a pass does. If the call was held or throttled,
// it returns the delay until the retry.
func (w *load) call(ctx context.Context, t *testing.T, r Request) (again time.Duration) {
	release, err := w.gate.Acquire(ctx, r)
	if err != nil {
		after, ok := external.AsRetryAfter(err)
		if ctx.Err() == nil && (!ok || !IsHeld(err) || !external.IsNotCreated(err)) {
			t.Errorf("want a call that is held, got %v", err)
		}

		return after
	}
	<-time.After(latency)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	after, ok := w.quota.call(now)
	if !ok {
		if w.first.IsZero() {
			w.first = now
		}
		w.refused++
		release(external.Throttled("", after, errTooMany))

		return after
	}
	if !w.first.IsZero() {
		w.served++
	}
	w.byObject[r.Object]++
	release(nil)

	return 0
}

// poll makes calls for an object until ctx ends: one each interval, and retries of those
// that were held or throttled.
func (w *load) poll(ctx context.Context, t *testing.T, r Request, offset, every time.Duration) {
	wait := offset
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if wait = w.call(ctx, t, r); wait == 0 {
			wait = every
		}
	}
}

// TestQuotaIsUsedFairly polls a hundred objects far more often than a quota allows,
// ninety of them in one namespace, while a user makes a change every seven seconds. The
// gate has to use the quota, but hardly exceed it, and no object starves.
func TestQuotaIsUsedFairly(t *testing.T) {
	const length = 15 * time.Minute

	cases := map[string]struct {
		reason string
		quota  quota
		every  time.Duration
		// least is the part of the allowed calls that must be made.
		least float64
		// user is the longest time that a user may wait.
		user time.Duration
	}{
		"Bucket": {
			reason: "two calls a second, twenty at once", quota: &bucket{rate: 2, size: 20, tokens: 20},
			every: 10 * time.Second, least: 0.95, user: 2 * time.Second,
		},
		"Tight": {
			reason: "two calls a second, one at once", quota: &bucket{rate: 2, size: 1, tokens: 1},
			every: 10 * time.Second, least: 0.8, user: 3 * time.Second,
		},
		"Fast": {
			reason: "thirty calls a second", quota: &bucket{rate: 30, size: 30, tokens: 30},
			every: time.Second, least: 0.95, user: 2 * time.Second,
		},
		"Window": {
			reason: "sixty calls in half a minute, in a burst or not",
			quota:  &window{length: 30 * time.Second, calls: 60},
			every:  10 * time.Second, least: 0.95, user: 30 * time.Second,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &load{gate: New(), quota: tc.quota, clock: clock.RealClock{}, byObject: map[string]int{}}
				delays := w.run(t, length, tc.every)

				allowed := w.quota.allows(w.first, w.clock.Now())
				calls := float64(w.served + w.refused)
				if calls < tc.least*allowed || calls > 1.2*allowed {
					t.Errorf("%s: %.0f calls since the first throttled one, %d throttled; want %.2f to 1.2 of the %.0f allowed",
						tc.reason, calls, w.refused, tc.least, allowed)
				}
				if longest := slices.Max(delays); len(delays) < 50 || longest > tc.user {
					t.Errorf("%s: %d users waited up to %s; want at most %s", tc.reason, len(delays), longest, tc.user)
				}
				w.wantFair(t)
			})
		})
	}
}

// wantFair checks that no object starves, and that objects of the small namespace are
// served more often than those of the big one.
func (w *load) wantFair(t *testing.T) {
	t.Helper()

	noisy, quiet, least := 0, 0, math.MaxInt
	for i := range objects {
		n := w.byObject[fmt.Sprint(i)]
		if i%10 == 0 {
			quiet += n

			continue
		}
		noisy += n
		least = min(least, n)
	}
	if average := noisy / (objects * 9 / 10); least < average/3 {
		t.Errorf("an object was served %d times, while the average is %d", least, average)
	}
	if quiet < noisy/5 { // without turns of the namespaces it would be a ninth
		t.Errorf("the quiet namespace was served %d times, the noisy one %d times", quiet, noisy)
	}
}

// run polls all objects and makes changes of users for a while, and returns how long
// each user waited.
func (w *load) run(t *testing.T, length, every time.Duration) (delays []time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for i := range objects {
		r := Request{Namespace: "noisy", Object: fmt.Sprint(i)}
		if i%10 == 0 {
			r.Namespace = "quiet"
		}
		all.Go(func() { w.poll(ctx, t, r, time.Duration(i)*every/objects, every) })
	}
	for i := 0; ctx.Err() == nil; i++ {
		<-time.After(7 * time.Second)
		r := Request{Namespace: "noisy", Object: fmt.Sprintf("user %d", i), Priority: User}
		begun := w.clock.Now()
		for again := time.Duration(1); again > 0; <-time.After(again) {
			again = w.call(ctx, t, r)
		}
		delays = append(delays, w.clock.Since(begun))
	}
	all.Wait()

	return delays
}

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
	// objects is how many are polled; every tenth is in a namespace of its own.
	objects = 100
	// latency is how long a call takes.
	latency = 50 * time.Millisecond
)

// An account allows so many calls, and says when to come back in whole seconds.
type account interface {
	call(now time.Time) (retryAfter time.Duration, ok bool)
	// allows is how many calls it serves between two times.
	allows(from, to time.Time) float64
}

// A bucket is refilled steadily.
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

// A window begins anew each time it has passed.
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

// A world is an account and what was seen of its use.
type world struct {
	gate    *Gate
	account account
	clock   clock.Clock

	mu       sync.Mutex
	first    time.Time // the first complaint
	served   int
	refused  int
	byObject map[string]int
}

// call makes a call through the gate as one pass does, and reports when to come
// back if it was not made or not served.
func (w *world) call(ctx context.Context, t *testing.T, r Request) (again time.Duration) {
	release, err := w.gate.Acquire(ctx, r)
	if err != nil {
		after, ok := external.AsRetryAfter(err)
		if ctx.Err() == nil && (!ok || !IsHeld(err) || !external.IsNotCreated(err)) {
			t.Errorf("want a call that is held back, got %v", err)
		}

		return after
	}
	<-time.After(latency)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	after, ok := w.account.call(now)
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

// keep makes calls for an object until the test ends: a poll each interval, and
// again when it was told to come back.
func (w *world) keep(ctx context.Context, t *testing.T, r Request, offset, every time.Duration) {
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

// TestThrottledAccount polls a hundred objects far more often than their account
// allows, ninety of them in one namespace, while a user wants something every seven
// seconds.
func TestThrottledAccount(t *testing.T) {
	const length = 15 * time.Minute

	cases := map[string]struct {
		reason  string
		account account
		every   time.Duration
		// least is what part of the calls allowed must be made.
		least float64
		// user is how long a user may wait.
		user time.Duration
	}{
		"Bucket": {
			reason: "two calls a second, twenty at once", account: &bucket{rate: 2, size: 20, tokens: 20},
			every: 10 * time.Second, least: 0.95, user: 2 * time.Second,
		},
		"Tight": {
			reason: "two calls a second, one at once", account: &bucket{rate: 2, size: 1, tokens: 1},
			every: 10 * time.Second, least: 0.8, user: 3 * time.Second,
		},
		"Fast": {
			reason: "thirty calls a second", account: &bucket{rate: 30, size: 30, tokens: 30},
			every: time.Second, least: 0.95, user: 2 * time.Second,
		},
		"Window": {
			reason: "sixty calls in half a minute, one after the other or not", account: &window{length: 30 * time.Second, calls: 60},
			every: 10 * time.Second, least: 0.95, user: 30 * time.Second,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{gate: New(), account: tc.account, clock: clock.RealClock{}, byObject: map[string]int{}}
				waits := w.run(t, length, tc.every)

				allowed := w.account.allows(w.first, w.clock.Now())
				calls := float64(w.served + w.refused)
				if calls < tc.least*allowed || calls > 1.2*allowed {
					t.Errorf("%s: %.0f calls since the first complaint, %d of them refused; want between %.2f and 1.2 of the %.0f that are allowed",
						tc.reason, calls, w.refused, tc.least, allowed)
				}
				if longest := slices.Max(waits); len(waits) < 50 || longest > tc.user {
					t.Errorf("%s: %d users waited up to %s; want at most %s", tc.reason, len(waits), longest, tc.user)
				}
				w.wantFair(t)
			})
		})
	}
}

// wantFair wants none to starve, and the objects of the small namespace to be
// served more often than those of the big one.
func (w *world) wantFair(t *testing.T) {
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
	if quiet < noisy/5 { // without turns it would be a ninth
		t.Errorf("a namespace was served %d times, the other one, of which more is asked, %d times", quiet, noisy)
	}
}

// run lets a hundred objects be polled and users change something for a while, and
// returns how long the users waited.
func (w *world) run(t *testing.T, length, every time.Duration) (waits []time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for i := range objects {
		r := Request{Namespace: "noisy", Object: fmt.Sprint(i)}
		if i%10 == 0 {
			r.Namespace = "quiet"
		}
		all.Go(func() { w.keep(ctx, t, r, time.Duration(i)*every/objects, every) })
	}
	for i := 0; ctx.Err() == nil; i++ {
		<-time.After(7 * time.Second)
		r := Request{Namespace: "noisy", Object: fmt.Sprintf("user %d", i), Class: User}
		begun := w.clock.Now()
		for again := time.Duration(1); again > 0; <-time.After(again) {
			again = w.call(ctx, t, r)
		}
		waits = append(waits, w.clock.Since(begun))
	}
	all.Wait()

	return waits
}

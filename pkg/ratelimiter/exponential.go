package ratelimiter

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// NewGlobalExponential returns a limiter that delays only items that have failed. An item that was reconciled n times
// since its last Forget is due baseDelay*2^(n-1) after the last reconcile, but at most maxDelay. Other delays since the
// last reconcile, such as the backoff of a queue, count toward this time.
//
// The limiter of this name in provider-runtime delays an item more with every reconcile, also after a success. It
// forgets an item only after a long time without use, and only when the item is used again. Here Forget takes effect at
// once, and an item that is not used for 2*maxDelay is dropped.
func NewGlobalExponential(baseDelay, maxDelay time.Duration) workqueue.TypedRateLimiter[any] {
	return newExponential(baseDelay, maxDelay, clock.RealClock{})
}

type exponential struct {
	base, max time.Duration
	clock     clock.PassiveClock

	mu    sync.Mutex
	items map[any]attempts
	swept time.Time
}

// attempts counts the attempts of an item since it was last forgotten.
type attempts struct {
	count int
	// last is when the last attempt is let through, which may be in the future.
	last time.Time
}

func newExponential(baseDelay, maxDelay time.Duration, c clock.PassiveClock) *exponential {
	return &exponential{base: baseDelay, max: maxDelay, clock: c, items: map[any]attempts{}, swept: c.Now()}
}

// When returns how long the item has to wait, and counts an attempt.
func (e *exponential) When(item any) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()

	now := e.clock.Now()
	e.sweep(now)

	a, ok := e.items[item]
	wait := time.Duration(0)
	if ok {
		wait = max(a.last.Add(e.delay(a.count)).Sub(now), 0)
	}
	e.items[item] = attempts{count: a.count + 1, last: now.Add(wait)}

	return wait
}

// Forget lets the next attempt of the item through at once.
func (e *exponential) Forget(item any) {
	e.mu.Lock()
	defer e.mu.Unlock()

	delete(e.items, item)
}

// NumRequeues returns the attempts of the item since it was last forgotten.
func (e *exponential) NumRequeues(item any) int {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.items[item].count
}

// delay doubles step by step and stops in time, so that it cannot overflow
// however many failures there were.
func (e *exponential) delay(failures int) time.Duration {
	d := e.base
	for n := 1; n < failures && d > 0; n++ {
		if d >= e.max/2 {
			return e.max
		}
		d *= 2
	}

	return min(d, e.max)
}

// sweep drops items that were not used for a while: deleted objects call no Forget. It
// reads all items, so it runs rarely.
func (e *exponential) sweep(now time.Time) {
	idle := 2 * e.max
	if now.Sub(e.swept) < idle {
		return
	}
	e.swept = now

	for item, a := range e.items {
		if now.Sub(a.last) >= idle {
			delete(e.items, item)
		}
	}
}

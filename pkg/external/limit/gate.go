package limit

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// probeRecheck is when to retry a call that is held while a probe is in flight.
const probeRecheck = time.Second

// Request identifies the object that a call is made for, and its priority.
type Request struct {
	// Namespace is the namespace of the object. Namespaces take turns.
	Namespace string
	// Object identifies the object within its namespace. The Gate finds the queue position of a held call by this value.
	// Object may be empty.
	Object string
	// Priority is how urgent the call is. The zero value is Poll.
	Priority Priority
	// Continues marks a call that follows another call of the same pass, such as an update after an observation. The
	// call uses a token but does not wait for one, because a pass that stops halfway has to start again. It is still
	// held during a Retry-After and while the system is down.
	Continues bool
	// Message returns the text of the call's error that may become the Message of a State. It is called only for an
	// error that concerns the whole connection. If Message is nil, no text is shown.
	Message func(error) string
}

// Gate limits the calls over one connection. It must be created by New or by a Set. It may be used concurrently, and
// has no goroutine.
type Gate struct {
	name    string
	maxWait time.Duration
	clock   clock.PassiveClock
	notify  func(State)

	mu       sync.Mutex
	rate     adaptiveRate
	breaker  breaker
	queue    waitQueue
	timer    *time.Timer
	reserved reservations
	lastUsed time.Time

	revision   string    // of the connection
	nextReread time.Time // see RereadAfter

	notified               string // the reason of the last notification
	scope, message         string // of the last error that concerned the connection
	calls, throttled, held uint64
	inFlight               int
}

// New returns a gate with a rate of ten calls per second, which adapts between 0.1 and 100. By default a call waits no
// longer than the gate takes to let three calls through, and never longer than a second. The gate holds all calls after
// five consecutive failures: first for ten seconds, then longer, and at most for five minutes.
func New(o ...Option) *Gate { return newGate("", newConfig(o)) }

func newGate(name string, c config) *Gate {
	now := c.clock.Now()

	return &Gate{
		name:     name,
		maxWait:  c.maxWait,
		clock:    c.clock,
		notify:   c.notify,
		rate:     newAdaptiveRate(c.start, c.lowest, c.highest),
		breaker:  breaker{threshold: c.failures, first: c.probe, maxBackoff: c.maxBackoff},
		reserved: reservations{lastSweep: now},
		lastUsed: now,
	}
}

// Acquire waits for permission to make a call. If it returns no error, the caller must call release when the call has
// ended, with the error of the call. The gate adapts to that error. Further calls of release do nothing.
//
// If IsHeld is true for the error of Acquire, the call must not be made now. That error has the time to retry
// (external.AsRetryAfter), and says that nothing was created (external.IsNotCreated). If the cause is the state of
// the system, external.IsUnavailable or external.IsUnauthorized is true as well.
//
// If ctx ends while Acquire waits, IsHeld and external.IsNotCreated are also true for the error, but the error has no
// time to retry.
func (g *Gate) Acquire(ctx context.Context, r Request) (release func(error), err error) {
	c, w, changed := g.request(ctx, r)
	g.notifyChange(changed)
	if w != nil {
		g.wait(ctx, w)
		if w.err != nil {
			return nil, w.err
		}
		c = w.call
	}

	return func(err error) { g.notifyChange(g.release(c, err)) }, nil
}

// wait waits until the waiter is admitted or rejected. Calls of higher priority may
// have gone ahead since its wait was estimated: it is rejected after three times its
// maximal wait.
func (g *Gate) wait(ctx context.Context, w *waiter) {
	if w.isDecided() {
		return
	}
	timeout := time.NewTimer(3 * w.maxWait)
	defer timeout.Stop()
	select {
	case <-w.decided:
	case <-ctx.Done():
		g.cancel(ctx, w)
	case <-timeout.C:
		g.timeOut(w)
	}
}

// Forget removes the queue position of an object whose call was held and that will not retry. An example is an object
// that was deleted. The gate then reserves no time for it. Forget ignores the Priority of the request. If the object
// has no position, Forget does nothing.
func (g *Gate) Forget(r Request) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.reserved.remove(r)
}

// setRevision stores the revision of the connection, and lets a probe through at once if
// the revision has changed.
func (g *Gate) setRevision(revision string) *State {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.revision == revision {
		return nil
	}
	g.revision = revision
	now := g.clock.Now()
	g.breaker.probeNow(now)

	return g.changed(now)
}

func (g *Gate) notifyChange(changed *State) {
	if changed != nil {
		g.notify(*changed)
	}
}

// request admits a call at once, or returns a waiter that is rejected or in the queue.
func (g *Gate) request(ctx context.Context, r Request) (*call, *waiter, *State) {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := g.clock.Now()
	g.lastUsed = now
	g.reserved.sweep(now)
	since := g.reserved.firstRequest(r, now)
	if ctx.Err() == nil && !g.breaker.tripped && g.hasToken(r, now) {
		g.rate.take(now)

		return g.admit(r, since.Before(now)), nil, g.changed(now)
	}
	w := &waiter{Request: r, since: since, waited: since.Before(now), decided: make(chan struct{})}
	switch delay := g.retryDelay(ctx, w, now); {
	case ctx.Err() != nil:
		w.reject(canceledError(ctx))
	case delay > 0:
		g.reject(w, now, delay)
	case g.breaker.tripped:
		w.admit(g.admit(r, w.waited))
		g.breaker.probe, g.breaker.probeStarted = w.call, now
	default:
		w.waited = true
		g.queue.push(w)
		g.dispatch(now)
	}

	return nil, w, g.changed(now)
}

// hasToken reports whether a call can be made without waiting.
func (g *Gate) hasToken(r Request, now time.Time) bool {
	if r.Continues && !g.rate.pausedUntil.After(now) {
		return true
	}

	return g.queue.count == 0 && g.rate.delay(now, 1+g.rate.reserved(r.Priority)) <= 0
}

// retryDelay returns zero if the waiter may wait for its call, and otherwise the delay
// after which it is to retry. It sets the maximal wait of the waiter.
func (g *Gate) retryDelay(ctx context.Context, w *waiter, now time.Time) time.Duration {
	if g.breaker.tripped {
		return g.breaker.blockedFor(now)
	}
	maxWait := g.maxWait
	if maxWait == adaptiveMaxWait {
		maxWait = min(3*g.rate.interval(), time.Second)
	}
	if deadline, ok := ctx.Deadline(); ok {
		maxWait = min(maxWait, deadline.Sub(now))
	}
	delay := g.expectedWait(w, now)
	if delay <= maxWait {
		w.maxWait = maxWait

		return 0
	}

	return delay
}

// expectedWait returns how long it takes until all waiters ahead of w and w itself have
// a token.
func (g *Gate) expectedWait(w *waiter, now time.Time) time.Duration {
	return g.rate.delay(now, float64(g.queue.ahead(w)+1)+g.rate.reserved(w.Priority))
}

// timeOut rejects a waiter that has waited too long, unless it has just been decided.
func (g *Gate) timeOut(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if w.isDecided() {
		return
	}
	now := g.clock.Now()
	g.queue.remove(w)
	g.reject(w, now, max(g.expectedWait(w, now), external.MinRetryAfter))
	g.dispatch(now)
}

// reject holds a call and reserves a time to retry. Calls of users are not spread: they
// may retry as soon as any call may.
func (g *Gate) reject(w *waiter, now time.Time, after time.Duration) {
	g.held++
	slot := g.reserved.add(w, now, now.Add(after), g.rate.interval())
	if w.Priority < User {
		after = slot.Sub(now)
	}
	w.reject(newHeldError(g.breaker.reason, max(after, external.MinRetryAfter)))
}

// admit counts a call that is let through.
func (g *Gate) admit(r Request, waited bool) *call {
	g.reserved.remove(r)
	g.calls++
	g.inFlight++

	return &call{epoch: g.rate.epoch, waited: waited, message: r.Message}
}

// dispatch admits the waiters for which there are tokens, and sets the timer for the
// next one. If the breaker has tripped, it rejects all.
func (g *Gate) dispatch(now time.Time) {
	if g.breaker.tripped {
		for _, w := range g.queue.drain() {
			g.reject(w, now, g.breaker.blockedFor(now))
		}
	}
	for g.queue.count > 0 {
		w, delay := g.queue.pop(func(p Priority) time.Duration { return g.rate.delay(now, 1+g.rate.reserved(p)) })
		if w == nil {
			g.dispatchAfter(delay)

			return
		}
		g.rate.take(now)
		w.admit(g.admit(w.Request, w.waited))
	}
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *Gate) dispatchAfter(d time.Duration) {
	if g.timer == nil {
		g.timer = time.AfterFunc(d, g.dispatchNow)

		return
	}
	g.timer.Reset(d)
}

func (g *Gate) dispatchNow() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.dispatch(g.clock.Now())
}

// cancel rejects a waiter whose context has ended, unless it has just been decided.
func (g *Gate) cancel(ctx context.Context, w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if w.call == nil && w.err == nil {
		g.queue.remove(w)
		w.reject(canceledError(ctx))
		g.dispatch(g.clock.Now())
	}
}

// call is a call that was let through.
type call struct {
	epoch    uint64 // of the rate when it was let through
	waited   bool   // it had to wait, or was held before
	released bool
	message  func(error) string
}

// sharedMessage returns the text of an error that may be shown, if the error concerns the whole connection. For other
// errors it returns "".
func (c *call) sharedMessage(err error) string {
	if _, shared := external.SharedCause(err); !shared || c.message == nil {
		return ""
	}

	return c.message(err)
}

// release records the result of a call, and admits or rejects waiters accordingly.
func (g *Gate) release(c *call, err error) *State {
	message := c.sharedMessage(err)
	g.mu.Lock()
	defer g.mu.Unlock()

	if c.released {
		return nil
	}
	c.released = true
	g.inFlight--
	now := g.clock.Now()
	g.lastUsed = now
	switch reason, threshold := g.breakerReason(err); {
	case threshold > 0:
		after, _ := external.AsRetryAfter(err)
		if !g.breaker.tripped || message != "" {
			g.message = message
		}
		g.breaker.recordFailure(now, c, reason, threshold, after)
	case err != nil && errors.Is(err, context.Canceled):
		g.breaker.recordCanceled(now, c)
	default:
		g.recordResponse(now, c, err, message)
	}
	g.dispatch(now)

	return g.changed(now)
}

// breakerReason returns the reason with which err may trip the breaker, and the number
// of such errors in a row that it takes. The number is zero for an error that does not
// concern the whole connection.
func (g *Gate) breakerReason(err error) (reason string, threshold int) {
	switch {
	case err == nil:
		return "", 0
	case external.IsUnauthorized(err):
		return ReasonUnauthorized, 1
	case external.IsUnavailable(err), errors.Is(err, context.DeadlineExceeded):
		return ReasonUnavailable, g.breaker.threshold
	default:
		return "", 0
	}
}

// recordResponse adapts the rate after a call to which the system responded, with or without an error.
func (g *Gate) recordResponse(now time.Time, c *call, err error, message string) {
	if g.breaker.recordResponse(c) {
		g.rate.restart(now, g.rate.limiter.Limit())
	}
	if err != nil {
		if scope, after, throttled := external.AsThrottled(err); throttled {
			g.throttled++
			g.scope, g.message = scope, message
			g.rate.decrease(now, c.epoch, after)

			return
		}
	}
	if c.waited {
		g.rate.increase(now)
	}
}

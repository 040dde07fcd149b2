package limit

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// soon is when to come back while a probe is under way.
const soon = time.Second

// A Request says who wants to call, and why.
type Request struct {
	// Namespace is whose call it is. Namespaces take turns.
	Namespace string
	// Object tells apart the objects of a namespace. Who is known by it and was told
	// to come back does not lose the place to those who came later. It may be empty.
	Object string
	// Class is how urgent the call is. The zero value is Poll.
	Class Class
	// Continues is for a call that goes on with what one let through before has begun,
	// such as a change of what was just looked at. It takes its share of what is allowed
	// without waiting for a turn: who is told to come back in between begins anew, and
	// would ask for more in the end. It is held while the system wants to be left alone.
	Continues bool
	// Tell returns what may be shown of an error that the call ends with, as the
	// Message of a State. It is only called for one that is about the connection as
	// a whole. If it is nil, nothing is shown.
	Tell func(error) string
}

// A Gate is what the calls over one connection go through. It must be made by New
// or by a Set, and may be used concurrently. It has no goroutine of its own.
type Gate struct {
	name     string
	patience time.Duration
	clock    clock.PassiveClock
	notify   func(State)

	mu      sync.Mutex
	pace    pace
	breaker breaker
	line    line
	timer   *time.Timer
	absent  absence
	used    time.Time

	revision string // of the connection

	told                    string // the reason that was told last
	scope, message          string // what the system last said about it
	calls, complaints, held uint64
	inFlight                int
}

// New returns a gate that lets ten calls per second through to begin with, finds
// a rate between one in ten seconds and a hundred per second, lets nobody wait for
// more than a second, nor for more than two others, and shuts after five failures in a row, for ten seconds
// first and five minutes at most.
func New(o ...Option) *Gate { return newGate("", newConfig(o)) }

func newGate(name string, c config) *Gate {
	now := c.clock.Now()

	return &Gate{
		name:     name,
		patience: c.patience,
		clock:    c.clock,
		notify:   c.notify,
		pace:     newPace(c.start, c.lowest, c.highest),
		breaker:  breaker{threshold: c.failures, first: c.probe, longest: c.longest},
		absent:   absence{swept: now},
		used:     now,
		told:     ReasonAvailable,
	}
}

// Acquire waits for leave to call. If it returns no error, release must be called
// when the call has ended, with its error: it is how the gate learns. Calling it
// again does nothing.
//
// An error for which IsHeld is true says that the call must not be made now. It is
// marked with when to come back (external.AsRetryAfter), with what is wrong if it
// is more than too many calls (external.IsUnavailable, external.IsUnauthorized), and
// as one after which nothing was created (external.IsNotCreated). So is the error
// of a context that ends while waiting, without a time.
func (g *Gate) Acquire(ctx context.Context, r Request) (release func(error), err error) {
	c, w, changed := g.ask(ctx, r)
	g.tell(changed)
	if w != nil {
		g.await(ctx, w)
		if w.err != nil {
			return nil, w.err
		}
		c = w.call
	}

	return func(err error) { g.tell(g.release(c, err)) }, nil
}

// await waits until it is decided on somebody. Others may have gone ahead since it was
// said how long that takes: nobody waits for much longer than was said.
func (g *Gate) await(ctx context.Context, w *waiter) {
	if isDecided(w) {
		return
	}
	enough := time.NewTimer(3 * w.patience)
	defer enough.Stop()
	select {
	case <-w.decided:
	case <-ctx.Done():
		g.giveUp(ctx, w)
	case <-enough.C:
		g.sendAway(w)
	}
}

func isDecided(w *waiter) bool {
	select {
	case <-w.decided:
		return true
	default:
		return false
	}
}

// Forget takes away the place of somebody who was told to come back and never will,
// such as an object that is gone, so that the others need not wait for its turn. The
// class does not matter. Whoever has no place is not missed.
func (g *Gate) Forget(r Request) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.absent.remove(r)
}

// renew takes note of the revision of the connection, and lets one through at once
// if it is another one.
func (g *Gate) renew(revision string) *State {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.revision == revision {
		return nil
	}
	g.revision = revision
	now := g.clock.Now()
	g.breaker.retry(now)

	return g.changed(now)
}

func (g *Gate) tell(changed *State) {
	if changed != nil {
		g.notify(*changed)
	}
}

// ask lets a request through, decides on it otherwise, or puts it into the line.
func (g *Gate) ask(ctx context.Context, r Request) (*call, *waiter, *State) {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := g.clock.Now()
	g.used = now
	g.absent.sweep(now)
	since := g.absent.since(r, now)
	if ctx.Err() == nil && !g.breaker.open && g.isFree(r, now) {
		g.pace.take(now)

		return g.admit(r, since.Before(now)), nil, g.changed(now)
	}
	w := &waiter{Request: r, since: since, waited: since.Before(now), decided: make(chan struct{})}
	switch wait := g.wait(ctx, w, now); {
	case ctx.Err() != nil:
		w.refuse(gaveUp(ctx))
	case wait > 0:
		g.refuse(w, now, wait)
	case g.breaker.open:
		w.admit(g.admit(r, w.waited))
		g.breaker.probe, g.breaker.probing = w.call, now
	default:
		w.waited = true
		g.line.join(w)
		g.dispatch(now)
	}

	return nil, w, g.changed(now)
}

// isFree says whether a call need not wait.
func (g *Gate) isFree(r Request, now time.Time) bool {
	if r.Continues && !g.pace.pause.After(now) {
		return true
	}

	return g.line.count == 0 && g.pace.until(now, 1+g.pace.reserve(r.Class)) <= 0
}

// wait is how long somebody would wait for whom that is too long, or else zero.
func (g *Gate) wait(ctx context.Context, w *waiter, now time.Time) time.Duration {
	if g.breaker.open {
		return g.breaker.shutFor(now)
	}
	patience := g.patience
	if patience == fewCalls {
		patience = min(3*g.pace.gap(), time.Second)
	}
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, deadline.Sub(now))
	}
	wait := g.pace.until(now, float64(g.line.ahead(w)+1)+g.pace.reserve(w.Class))
	if wait <= patience {
		w.patience = patience

		return 0
	}

	return wait
}

// sendAway tells somebody who has waited for long enough to come back, unless it was
// decided at that very moment.
func (g *Gate) sendAway(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if isDecided(w) {
		return
	}
	now := g.clock.Now()
	g.line.leave(w)
	g.refuse(w, now, max(g.pace.until(now, float64(g.line.ahead(w)+1)+g.pace.reserve(w.Class)), external.MinRetryAfter))
	g.dispatch(now)
}

// refuse tells somebody to come back, each one at another time unless a user waits
// for it.
func (g *Gate) refuse(w *waiter, now time.Time, after time.Duration) {
	g.held++
	slot := g.absent.add(w, now, now.Add(after), g.pace.gap())
	if w.Class < User {
		after = slot.Sub(now)
	}
	w.refuse(held(g.breaker.reason, max(after, external.MinRetryAfter)))
}

// admit lets somebody through.
func (g *Gate) admit(r Request, waited bool) *call {
	g.absent.remove(r)
	g.calls++
	g.inFlight++

	return &call{round: g.pace.round, waited: waited, tell: r.Tell}
}

// dispatch lets through who may go now, and sees to it that the others are looked
// at again in time.
func (g *Gate) dispatch(now time.Time) {
	if g.breaker.open {
		for _, w := range g.line.clear() {
			g.refuse(w, now, g.breaker.shutFor(now))
		}
	}
	for g.line.count > 0 {
		w, wait := g.line.next(func(c Class) time.Duration { return g.pace.until(now, 1+g.pace.reserve(c)) })
		if w == nil {
			g.wakeIn(wait)

			return
		}
		g.pace.take(now)
		w.admit(g.admit(w.Request, w.waited))
	}
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *Gate) wakeIn(d time.Duration) {
	if g.timer == nil {
		g.timer = time.AfterFunc(d, g.wake)

		return
	}
	g.timer.Reset(d)
}

func (g *Gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.dispatch(g.clock.Now())
}

// giveUp takes somebody out of the line who waits no longer, unless it was decided
// at that very moment.
func (g *Gate) giveUp(ctx context.Context, w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if w.call == nil && w.err == nil {
		g.line.leave(w)
		w.refuse(gaveUp(ctx))
		g.dispatch(g.clock.Now())
	}
}

// A call is one that was let through.
type call struct {
	round  uint64 // of the pace at that time
	waited bool   // it could not be made when it was first wanted
	done   bool
	tell   func(error) string
}

// says returns what is shown of an error, if it is about the connection as a whole.
func (c *call) says(err error) string {
	if _, shared := external.SharedCause(err); !shared || c.tell == nil {
		return ""
	}

	return c.tell(err)
}

// release learns from what came of a call.
func (g *Gate) release(c *call, err error) *State {
	said := c.says(err)
	g.mu.Lock()
	defer g.mu.Unlock()

	if c.done {
		return nil
	}
	c.done = true
	g.inFlight--
	now := g.clock.Now()
	g.used = now
	switch reason, enough := g.brokenBy(err); {
	case enough > 0:
		after, _ := external.AsRetryAfter(err)
		if !g.breaker.open || said != "" {
			g.message = said
		}
		g.breaker.fail(now, c, reason, enough, after)
	case err != nil && errors.Is(err, context.Canceled):
		g.breaker.unknown(now, c)
	default:
		g.learn(now, c, err, said)
	}
	g.dispatch(now)

	return g.changed(now)
}

// brokenBy says for what reason err shows that nothing works over the connection,
// and how many like it in a row are needed to believe it: none if it does not.
func (g *Gate) brokenBy(err error) (reason string, enough int) {
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

// learn is for an answer, of whatever kind.
func (g *Gate) learn(now time.Time, c *call, err error, said string) {
	if g.breaker.answered(c) {
		g.pace.slowly(now, g.pace.limiter.Limit())
	}
	if err != nil {
		if scope, after, throttled := external.AsThrottled(err); throttled {
			g.complaints++
			g.scope, g.message = scope, said
			g.pace.complain(now, c.round, after)

			return
		}
	}
	if c.waited {
		g.pace.raise(now)
	}
}

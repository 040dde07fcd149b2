// Package deadline makes contexts with a deadline that rarely need a timer. Starting and stopping a timer takes a
// large part of a pass that sends no network request (see the benchmarks). Start with At or In.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// At returns a context with a deadline, like context.WithDeadline. Until Done is called, the context has no timer, and
// does not register with its parent. Deadline and Err are also correct without a timer, by the clock of the process.
//
// If the context ends for two reasons, and neither Done nor Err was called in between, Err may return the second
// reason. It does so only if the second reason is the end of the parent.
//
// The deadline should have a monotonic reading, as the result of time.Now has. Without one, the deadline moves with the
// wall clock until Err has reported the end.
//
// The context is safe for concurrent use. The returned function ends the context. It must be called, and may be called
// repeatedly.
func At(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	c := &lazy{parent: parent, at: deadline}

	return c, c.cancel
}

// In returns a context with a timeout. It is [At] with the deadline after that timeout.
func In(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return At(parent, now().Add(timeout))
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // timers, and so the ends of contexts, know no other clock
}

// A lazy context is in one of three states: without a timer and active; without a timer and ended, as Err has
// reported; or replaced by a context of package context.
type lazy struct {
	parent context.Context //nolint:containedctx // it is a context itself
	at     time.Time

	mu    sync.Mutex
	over  error              // as Err has reported; nil: active
	alone bool               // it is over, and its parent was not
	usual context.Context    //nolint:containedctx // after Done was called; nil: it was not
	end   context.CancelFunc // of it
}

// Deadline returns the deadline.
func (c *lazy) Deadline() (time.Time, bool) {
	if earlier, ok := c.parent.Deadline(); ok && earlier.Before(c.at) {
		return earlier, true
	}

	return c.at, true
}

// Err returns why the context is over, or nil.
func (c *lazy) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.err()
}

func (c *lazy) err() error {
	switch {
	case c.usual != nil:
		return c.usual.Err()
	case c.over != nil:
	case c.parent.Err() != nil:
		c.over = c.parent.Err()
	case !now().Before(c.at):
		c.over, c.alone = context.DeadlineExceeded, true
	}

	return c.over
}

// Done returns a channel that is closed when the context is over.
func (c *lazy) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usual == nil {
		switch over := c.err(); {
		case over == nil:
			c.usual, c.end = context.WithDeadline(c.under(), c.at)
		case errors.Is(over, context.DeadlineExceeded): // whatever the clock says by now
			c.usual, c.end = context.WithDeadline(c.under(), time.Time{})
		default:
			c.usual, c.end = context.WithCancel(c.under())
			c.end()
		}
	}

	return c.usual.Done()
}

// under returns the context of its values, and of the cause if the parent has ended it: the state of the parent
// after the end is irrelevant.
func (c *lazy) under() context.Context {
	if c.alone {
		return context.WithoutCancel(c.parent)
	}

	return c.parent
}

// Value returns the value that the parent has for the key. Package context calls Value with private keys of its own: to
// find an ancestor that can cancel its children, and to find the cause of the end.
func (c *lazy) Value(key any) any {
	c.mu.Lock()
	of := c.usual
	if of == nil {
		of = c.under()
	}
	c.mu.Unlock()

	return of.Value(key)
}

func (c *lazy) cancel() {
	c.mu.Lock()
	end := c.end
	if end == nil && c.err() == nil {
		c.over, c.alone = context.Canceled, true
	}
	c.mu.Unlock()
	if end != nil {
		end()
	}
}

// String returns the same text as a context of package context. It reads no changing state, so that it can be
// printed at any time.
func (c *lazy) String() string {
	if earlier, ok := c.parent.Deadline(); ok && earlier.Before(c.at) {
		return name(c.parent) + ".WithCancel"
	}

	return fmt.Sprintf("%s.WithDeadline(%s [%s])", name(c.parent), c.at, c.at.Sub(now()))
}

func name(ctx context.Context) string {
	if s, ok := ctx.(fmt.Stringer); ok {
		return s.String()
	}

	return fmt.Sprintf("%T", ctx)
}

// Package deadline is for contexts with a deadline that hardly anybody waits for: those
// of a pass that is over before a network was asked for anything. To start a timer
// and to stop it takes a large part of such a pass. Start with At or In.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// At returns a context that is what context.WithDeadline returns, with one
// difference: no timer runs, and the parent is told nothing, until somebody calls Done.
// Deadline and Err tell the truth all the same, by the clock of the process. If it ends
// for two reasons and nobody has waited or looked in between, it may tell the second, unless
// that is its own end. The deadline is to have a monotonic part, as what time.Now returns: without,
// it moves with the clock, until it was told to be over. It is safe for concurrent use. What is
// returned with it ends it, and has to be called, any number of times.
func At(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	c := &lazy{parent: parent, at: deadline}

	return c, c.cancel
}

// In returns a context that ends after a time, as [At] does.
func In(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return At(parent, now().Add(timeout))
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // timers, and so the ends of contexts, know no other clock
}

// A lazy context is one of three: nobody has waited and it goes on; nobody has waited and it
// has been told to be over; or there is a usual one in its place.
type lazy struct {
	parent context.Context //nolint:containedctx // it is a context itself
	at     time.Time

	mu    sync.Mutex
	over  error              // as it was told; nil: it goes on
	alone bool               // it is over, and its parent was not
	usual context.Context    //nolint:containedctx // what it is for who waits; nil: nobody does
	end   context.CancelFunc // of it
}

// Deadline returns when it ends at the latest.
func (c *lazy) Deadline() (time.Time, bool) {
	if earlier, ok := c.parent.Deadline(); ok && earlier.Before(c.at) {
		return earlier, true
	}

	return c.at, true
}

// Err returns why it is over, or nil.
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

// Done returns what is closed when it is over.
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

// under returns where its values are, and what has ended it, if that was its parent:
// what becomes of that after it was over is of no concern.
func (c *lazy) under() context.Context {
	if c.alone {
		return context.WithoutCancel(c.parent)
	}

	return c.parent
}

// Value returns a value of the parent. Package context asks in this way for the
// context whose children end with it, and for the cause.
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

// String returns what package context says of its own. It looks at nothing that changes, so that
// it may be printed at any time.
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

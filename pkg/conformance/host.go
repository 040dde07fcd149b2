package conformance

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrGone is what everything is answered with once a call was given up: its
// goroutine is still there and may do anything at any time.
var errGone = errors.New("the suite was given up")

// A host calls what an author has written: on goroutines outside of the bubble in
// which a simulation lives, in real time, and not for ever. It is used by one
// goroutine at a time.
type host struct {
	limit time.Duration
	jobs  chan job
	done  chan error
	gone  atomic.Pointer[reason] // why nothing is called any more
	ended time.Time              // when the last call returned; real
}

// A reason is a property that does not hold, and a sentence about it.
type reason struct{ property, text string }

type job struct {
	what    string
	ctx     context.Context //nolint:containedctx // handed over to another goroutine
	over    bool            // ctx is; asked inside of the bubble, because outside it is another time
	timeout time.Duration
	do      func(context.Context) error
	tells   bool // returns a panic as an error
}

// A panicError says that what was called has panicked.
type panicError struct{ text string }

func (e *panicError) Error() string { return e.text }

func newHost(limit time.Duration) *host {
	h := &host{limit: limit, jobs: make(chan job), done: make(chan error)}
	go func() {
		for j := range h.jobs {
			err := h.run(j)
			h.ended = time.Now()
			h.done <- err
		}
	}()

	return h
}

// close ends the host. What was given up goes on.
func (h *host) close() { close(h.jobs) }

// dead says whether nothing is called any more.
func (h *host) dead() bool { return h.gone.Load() != nil }

// giveUp makes that nothing is called any more. The first reason counts.
func (h *host) giveUp(property, text string) error {
	h.gone.CompareAndSwap(nil, &reason{property, text})

	return errGone
}

// call calls something. Its context has the values of ctx, and a deadline in real
// time.
func (h *host) call(ctx context.Context, what string, do func(context.Context) error) error {
	return h.callFor(ctx, h.limit, what, do)
}

// attempt is Call for a caller who tells himself that it has panicked, by the error, and
// then gives up the suite.
func (h *host) attempt(ctx context.Context, what string, do func(context.Context) error) error {
	return h.hand(job{what: what, ctx: ctx, timeout: h.limit, do: do, tells: true})
}

// callFor calls something that may take so long.
func (h *host) callFor(ctx context.Context, timeout time.Duration, what string, do func(context.Context) error) error {
	return h.hand(job{what: what, ctx: ctx, timeout: timeout, do: do})
}

// hand hands a job to the goroutine outside, and waits for its end.
func (h *host) hand(j job) error {
	if h.dead() {
		return errGone
	}
	j.over = j.ctx.Err() != nil
	h.jobs <- j

	return <-h.done
}

func (h *host) run(j job) error {
	ctx, cancel := context.WithTimeout(context.Background(), j.timeout)
	defer cancel()
	if j.over {
		cancel()
	}
	answer := make(chan error, 1)
	go func() {
		ended := "it ends its goroutine, as t.Fatal does: return an error instead"
		defer func() {
			if r := recover(); r != nil {
				ended = fmt.Sprintf("it panics: %v\n%s", r, stack())
				if j.tells {
					answer <- &panicError{ended}

					return
				}
			}
			if ended != "" {
				answer <- h.giveUp("calls-return", j.what+" does not return: "+ended)
			}
		}()
		err := j.do(crossing{ctx, j.ctx})
		ended = ""
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(2 * j.timeout):
		select {
		case err := <-answer: // a busy machine is late with both
			return err
		default:
		}

		return h.giveUp("calls-return", fmt.Sprintf("%s was called with a deadline of %s, and did not return within %s: "+
			"it has to end when its context does", j.what, j.timeout, 2*j.timeout))
	}
}

// stack returns the frames of the goroutine that panics, from the panic on.
func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			lines = lines[i:]

			break
		}
	}

	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// A crossing is a context outside of the bubble with the values of one inside. Its
// channels are of the outside.
type crossing struct {
	context.Context //nolint:containedctx // it is one

	values context.Context //nolint:containedctx // see above
}

// Value returns that of the context inside. The one outside is asked first: the
// standard library looks there for what belongs to its channels.
func (c crossing) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}

	return c.values.Value(key)
}

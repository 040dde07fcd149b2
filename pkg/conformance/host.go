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

// errStopped is the error of all calls after the suite was stopped. No call is made then, because the goroutine of the
// call that has not returned may still change anything.
var errStopped = errors.New("the suite was given up")

// A host calls code of the author with a deadline in real time. It makes the calls in goroutines outside of the
// synctest bubble of the simulation. Only one goroutine at a time uses it.
type host struct {
	limit      time.Duration
	grace      time.Duration // after the deadline of a call, in which it has to return; by default another limit
	situation  string        // in which calls are made, for a message; empty if it is the usual one
	jobs       chan job
	done       chan error
	stopReason atomic.Pointer[reason] // why the suite was stopped
	lastReturn time.Time              // time when the last call returned; real
}

// A reason is the reason why the suite was stopped: a property that does not hold, and a sentence about it.
type reason struct{ property, text string }

// A job is one call that the host makes.
type job struct {
	name        string
	ctx         context.Context //nolint:containedctx // handed over to another goroutine
	expired     bool            // ctx has ended; read inside of the bubble, because time differs outside
	timeout     time.Duration
	grace       time.Duration // after timeout
	situation   string
	do          func(context.Context) error
	returnPanic bool // returns a panic as an error
	probe       bool // it is a method of the probe, or a function that one has returned
}

// A panicError is the error of a call that panicked.
type panicError struct{ text string }

// Error returns the text of the panic and its stack.
func (e *panicError) Error() string { return e.text }

// newHost starts a host whose calls have a deadline of limit.
func newHost(limit time.Duration) *host {
	h := &host{limit: limit, jobs: make(chan job), done: make(chan error)}
	go func() {
		for j := range h.jobs {
			err := h.run(j)
			h.lastReturn = time.Now()
			h.done <- err
		}
	}()

	return h
}

// close stops the host. A call that has not returned continues to run.
func (h *host) close() { close(h.jobs) }

// stopped reports whether the suite was stopped.
func (h *host) stopped() bool { return h.stopReason.Load() != nil }

// giveUp stops the suite, so that no further call is made. If the suite was stopped before, the first reason stays.
func (h *host) giveUp(property, text string) error {
	h.stopReason.CompareAndSwap(nil, &reason{property, text})

	return errStopped
}

// call makes a call. The context of the call has the values of ctx and a deadline in real time.
func (h *host) call(ctx context.Context, what string, do func(context.Context) error) error {
	return h.callFor(ctx, h.limit, what, do)
}

// attempt is like call, but returns a panic as a panicError instead of stopping the suite.
func (h *host) attempt(ctx context.Context, what string, do func(context.Context) error) error {
	return h.submit(job{name: what, ctx: ctx, timeout: h.limit, do: do, returnPanic: true})
}

// environment is in the place of a property if the environment of the test fails, and not the client or the probe.
const environment = "environment"

// callProbe calls a method of the probe that may be repeated. If the deadline of the call ends, callProbe repeats the
// call once with five times as much time: a busy machine is no property of a client.
func (h *host) callProbe(what string, do func(context.Context) error) error {
	err := h.callProbeOnce(what, do)
	if isTimeout(err) && !h.stopped() {
		err = h.submit(job{name: what, ctx: context.Background(), timeout: max(5*h.limit, h.grace), do: do, probe: true})
	}

	return err
}

// callProbeOnce calls a method of the probe, or a function that one has returned. If it does not return in time, the
// setup of the test is wrong, and no property of the client is broken.
func (h *host) callProbeOnce(what string, do func(context.Context) error) error {
	return h.submit(job{name: what, ctx: context.Background(), timeout: h.limit, do: do, probe: true})
}

// giveUpProbe stops the suite because the probe has failed. If the deadline of the call has ended, the environment of
// the test is named as the reason.
func (h *host) giveUpProbe(text string, err error) error {
	if isTimeout(err) {
		return h.giveUp(environment, text+". The external system or the machine is too slow for Suite.CallTimeout: set a "+
			"longer one, or run fewer tests at once")
	}

	return h.giveUp("probe-tells-the-truth", text)
}

// isTimeout reports whether an error is about the end of a deadline.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }

	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// callFor is like call, but with the given timeout.
func (h *host) callFor(ctx context.Context, timeout time.Duration, what string, do func(context.Context) error) error {
	return h.submit(job{name: what, ctx: ctx, timeout: timeout, do: do})
}

// submit passes a job to the goroutine of the host, and waits until the job has ended.
func (h *host) submit(j job) error {
	if h.stopped() {
		return errStopped
	}
	j.expired, j.grace, j.situation = j.ctx.Err() != nil, max(h.grace, j.timeout), h.situation
	h.jobs <- j

	return <-h.done
}

// run runs a job. If the job does not return in time, run stops the suite.
func (h *host) run(j job) error {
	ctx, cancel := context.WithTimeout(context.Background(), j.timeout)
	defer cancel()
	if j.expired {
		cancel()
	}
	answer := make(chan error, 1)
	go func() {
		ended := "it ends its goroutine, as t.Fatal does: return an error instead"
		defer func() {
			if r := recover(); r != nil {
				ended = fmt.Sprintf("it panics: %v\n%s", r, stack())
				if j.returnPanic {
					answer <- &panicError{ended}

					return
				}
			}
			if ended != "" {
				answer <- h.giveUp("calls-return", j.name+" does not return: "+ended)
			}
		}()
		err := j.do(valueContext{ctx, j.ctx})
		ended = ""
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(j.timeout + j.grace):
		select {
		case err := <-answer: // a busy machine is late with both
			return err
		default:
		}

		return h.giveUpOverdue(j)
	}
}

// giveUpOverdue stops the suite because a call has not returned in time.
func (h *host) giveUpOverdue(j job) error {
	property, remedy := "calls-return", "pass the context of the call to each request"
	if j.probe {
		property, remedy = environment, "the setup of the test is wrong, and not the client. Pass the context that "+
			j.name+" is given to each of its requests"
	}

	return h.giveUp(property, fmt.Sprintf("%s was called with a deadline of %s%s, and did not return within %s: "+
		"it has to end when its context does, so %s", j.name, j.timeout, j.situation, j.timeout+j.grace, remedy))
}

// stack returns the frames of a panicking goroutine, starting with the panic.
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

// A valueContext is a context from outside of the synctest bubble that also has the values of a context from inside.
// Its channels belong to the outside.
type valueContext struct {
	context.Context //nolint:containedctx // it is one

	values context.Context //nolint:containedctx // for its values
}

// Value returns the value of the outer context, or the value of the inner context if the outer context has none. The
// standard library uses Value to find the outer context, to which the channels belong.
func (c valueContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}

	return c.values.Value(key)
}

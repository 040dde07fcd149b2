package sim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A requestQueue passes requests from other goroutines of a process to the one goroutine of its world. The requests are
// made one after the other, in an order that does not depend on scheduling. Each caller waits for its answer.
type requestQueue struct {
	mu      sync.Mutex
	waiting []pendingRequest
	closed  bool
}

// A pendingRequest waits for its answer.
type pendingRequest struct {
	ctx    context.Context //nolint:containedctx // of the request, which is made on another goroutine
	of     Operation
	do     func() error
	answer chan error
}

// beside is the context key of other goroutines.
type beside struct{}

func besides(ctx context.Context) context.Context { return context.WithValue(ctx, beside{}, true) }

func isBeside(ctx context.Context) bool { return ctx.Value(beside{}) != nil }

// ask adds a request and returns its answer.
func (h *requestQueue) ask(ctx context.Context, o Operation, do func() error) error {
	asked := pendingRequest{ctx, o, do, make(chan error, 1)}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()

		return context.Canceled
	}
	h.waiting = append(h.waiting, asked)
	h.mu.Unlock()

	return <-asked.answer
}

// close refuses all requests, pending and future ones.
func (h *requestQueue) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, asked := range h.waiting {
		asked.answer <- context.Canceled
	}
	h.waiting = nil
}

// serve answers the requests of other goroutines of the process until all of them wait for something else. It returns
// whether there were any requests.
func (p *process) serve() (any bool) {
	for !p.dead {
		wait(time.Nanosecond) // no time passes before all others wait
		asked, ok := p.background.requests.next()
		if !ok {
			return any
		}
		any = true
		p.answer(asked)
	}

	return any
}

// next returns the first pending request, in an order that does not depend on the scheduling of goroutines.
func (h *requestQueue) next() (pendingRequest, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return pendingRequest{}, false
	}
	slices.SortStableFunc(h.waiting, func(a, b pendingRequest) int {
		return strings.Compare(a.of.Name+" "+a.of.key.String(), b.of.Name+" "+b.of.key.String())
	})
	first := h.waiting[0]
	h.waiting = slices.Clone(h.waiting[1:])

	return first, true
}

// answer makes a request, in which the process may die.
func (p *process) answer(asked pendingRequest) {
	err := context.Canceled
	defer func() { asked.answer <- err }()
	err = p.world.step(asked.ctx, p, asked.of, func(context.Context) error { return asked.do() })
}

// A processLogger is the logger of a process. After the end of the process it discards what the other goroutines of the
// process log.
type processLogger struct {
	*sinks

	process *process
}

// Info logs a line, unless the process has ended.
func (v processLogger) Info(msg string, keysAndValues ...any) {
	if !v.process.background.requests.over() {
		v.sinks.Info(msg, keysAndValues...)
	}
}

// Debug logs a debug line, unless the process has ended.
func (v processLogger) Debug(msg string, keysAndValues ...any) {
	if !v.process.background.requests.over() {
		v.sinks.Debug(msg, keysAndValues...)
	}
}

// over returns whether close was called.
func (h *requestQueue) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.closed
}

// WithValues checks that the values contain no secret, and returns the logger itself.
func (v processLogger) WithValues(keysAndValues ...any) logging.Logger {
	v.sinks.WithValues(keysAndValues...)

	return v
}

// List reads all matching objects, also if the caller requests only a page: a world has few objects.
func (l live) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)

	return l.Reader.List(ctx, list, &client.ListOptions{Namespace: asked.Namespace, LabelSelector: asked.LabelSelector})
}

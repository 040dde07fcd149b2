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

// A world is of one goroutine. What a process does beside its passes, it does on others: what those
// ask of the API server they hand over, one request after the other and in an order of the world's, and
// wait until it has answered.
type handover struct {
	mu     sync.Mutex
	waits  []handed
	closed bool
}

// A handed request waits for its answer.
type handed struct {
	ctx    context.Context //nolint:containedctx // of the request, which is made on another goroutine
	of     operation
	do     func() error
	answer chan error
}

// Mark of the contexts of other goroutines.
type beside struct{}

func besides(ctx context.Context) context.Context { return context.WithValue(ctx, beside{}, true) }

func isBeside(ctx context.Context) bool { return ctx.Value(beside{}) != nil }

// ask hands a request over and returns its answer.
func (h *handover) ask(ctx context.Context, o operation, do func() error) error {
	asked := handed{ctx, o, do, make(chan error, 1)}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()

		return context.Canceled
	}
	h.waits = append(h.waits, asked)
	h.mu.Unlock()

	return <-asked.answer
}

// close refuses what was not answered, and whatever will be asked.
func (h *handover) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, asked := range h.waits {
		asked.answer <- context.Canceled
	}
	h.waits = nil
}

// over says whether nothing is answered any more.
func (h *handover) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.closed
}

// next returns the first of the requests that wait, in an order that does not depend on which goroutine
// came first.
func (h *handover) next() (handed, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waits) == 0 {
		return handed{}, false
	}
	slices.SortStableFunc(h.waits, func(a, b handed) int {
		return strings.Compare(a.of.name+" "+a.of.key.String(), b.of.name+" "+b.of.key.String())
	})
	first := h.waits[0]
	h.waits = slices.Clone(h.waits[1:])

	return first, true
}

// serve answers what other goroutines of the process have asked for, until all of them wait for
// something else. It says whether there was anything.
func (p *process) serve() (any bool) {
	for !p.dead {
		wait(time.Nanosecond) // no time passes before all others wait
		asked, ok := p.beside.next()
		if !ok {
			return any
		}
		any = true
		p.answer(asked)
	}

	return any
}

// answer makes a request, in which the process may die.
func (p *process) answer(asked handed) {
	err := context.Canceled
	defer func() { asked.answer <- err }()
	err = p.world.step(asked.ctx, p, asked.of, func(context.Context) error { return asked.do() })
}

// A voice says what a process tells until it is no more: its other goroutines may go on a while.
type voice struct {
	*witness

	of *process
}

// Info takes a line of the log.
func (v voice) Info(msg string, keysAndValues ...any) {
	if !v.of.beside.over() {
		v.witness.Info(msg, keysAndValues...)
	}
}

// Debug takes a line of the log.
func (v voice) Debug(msg string, keysAndValues ...any) {
	if !v.of.beside.over() {
		v.witness.Debug(msg, keysAndValues...)
	}
}

// WithValues returns the voice.
func (v voice) WithValues(keysAndValues ...any) logging.Logger {
	v.witness.WithValues(keysAndValues...)

	return v
}

// List reads all that a page could have, and more: objects of a world are few.
func (l live) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)

	return l.Reader.List(ctx, list, &client.ListOptions{Namespace: asked.Namespace, LabelSelector: asked.LabelSelector})
}

package memory

import (
	"context"
	"sync"

	"github.com/moorage-dev/moorage/pkg/store"
)

// A watcher has an unbounded queue, so that writers never block.
type watcher[T store.Object] struct {
	*store.Ending

	sel    store.Selection
	events chan store.Event[T]
	wake   chan struct{} // holds a value if events are pending

	mu      sync.Mutex
	pending []store.Event[T]
}

func newWatcher[T store.Object](sel store.Selection) *watcher[T] {
	return &watcher[T]{Ending: store.NewEnding(), sel: sel, events: make(chan store.Event[T]),
		wake: make(chan struct{}, 1)}
}

// Events returns the channel of events.
func (w *watcher[T]) Events() <-chan store.Event[T] { return w.events }

// add queues an event if its key is selected.
func (w *watcher[T]) add(e store.Event[T]) {
	if !e.Synced && !w.sel.Has(e.Key) {
		return
	}
	w.mu.Lock()
	w.pending = append(w.pending, e)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// takePending returns and removes the queued events.
func (w *watcher[T]) takePending() []store.Event[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.pending
	w.pending = nil

	return all
}

// run sends the queued events until the watch ends, and then calls onEnd.
func (w *watcher[T]) run(ctx context.Context, onEnd func()) {
	defer close(w.events)
	defer onEnd()
	for {
		for _, e := range w.takePending() {
			select {
			case w.events <- e:
			case <-w.Done():
				return
			case <-ctx.Done():
				w.End(ctx.Err())

				return
			}
		}
		select {
		case <-w.wake:
		case <-w.Done():
			return
		case <-ctx.Done():
			w.End(ctx.Err())

			return
		}
	}
}

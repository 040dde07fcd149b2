package controllerruntime

import (
	"context"
	"sync"
)

// A notifier passes objects to the author's code in another goroutine, so that add does not block.
type notifier struct {
	notify func(obj any)
	wake   chan struct{}

	mu   sync.Mutex
	objs []any
}

func newNotifier(notify func(obj any)) *notifier {
	return &notifier{notify: notify, wake: make(chan struct{}, 1)}
}

// add appends an object.
func (n *notifier) add(obj any) {
	n.mu.Lock()
	n.objs = append(n.objs, obj)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run calls notify with each object, in order, until the context ends.
func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		n.mu.Lock()
		objs := n.objs
		n.objs = nil
		n.mu.Unlock()
		for _, obj := range objs {
			n.notify(obj)
		}
	}
}

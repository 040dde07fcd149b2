package controllerruntime

import (
	"context"
	"sync"
)

// A line is of objects that wait to be told of: whoever adds one does not wait for
// the author's code.
type line struct {
	tell func(obj any)
	wake chan struct{}

	mu   sync.Mutex
	objs []any
}

func newLine(tell func(obj any)) *line { return &line{tell: tell, wake: make(chan struct{}, 1)} }

func (l *line) add(obj any) {
	l.mu.Lock()
	l.objs = append(l.objs, obj)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *line) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		l.mu.Lock()
		objs := l.objs
		l.objs = nil
		l.mu.Unlock()
		for _, obj := range objs {
			l.tell(obj)
		}
	}
}

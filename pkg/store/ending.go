package store

import "sync"

// An Ending is how a watch ends: once, and for one reason. It is for those who write
// an adapter: a Watcher that embeds one has Err and Stop. Make it with NewEnding. It
// may be used concurrently.
type Ending struct {
	once sync.Once
	done chan struct{}

	mu  sync.Mutex
	err error
}

// NewEnding returns that of a watch which goes on.
func NewEnding() *Ending { return &Ending{done: make(chan struct{})} }

// End ends the watch for a reason, or without one if that is nil. The first call
// counts.
func (e *Ending) End(reason error) {
	e.once.Do(func() {
		e.mu.Lock()
		e.err = reason
		e.mu.Unlock()
		close(e.done)
	})
}

// Stop ends the watch without a reason.
func (e *Ending) Stop() { e.End(nil) }

// Done is closed when the watch has ended.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Err returns the reason; nil after Stop, or while the watch goes on.
func (e *Ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.err
}

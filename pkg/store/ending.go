package store

import "sync"

// An Ending implements the methods Err and Stop of a Watcher. It records the one reason for which a watch ended. It is
// for authors of adapters, who embed it in their Watcher. Use NewEnding; the zero value is not usable. Its methods may
// be called concurrently.
type Ending struct {
	once sync.Once
	done chan struct{}

	mu  sync.Mutex
	err error
}

// NewEnding returns the Ending of a running watch.
func NewEnding() *Ending { return &Ending{done: make(chan struct{})} }

// End ends the watch with a reason, which may be nil. Only the first call has an effect.
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

// Done returns a channel that is closed when the watch has ended.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Err returns the reason, or nil after Stop and while the watch is running.
func (e *Ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.err
}

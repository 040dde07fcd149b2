package syncer

import (
	"context"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// ErrStarted is returned by Register and Start of a Runner that was started.
var ErrStarted = errors.New("runner is started already")

// A Runner runs what is registered with it, in an order that can be relied on: all
// Initializers, all IndicesRegisterers, both managers and their caches, and then
// each item as what it is: FakeSyncer, Syncer, ControllerStarter, or several of
// them. Make one with NewRunner and Register, then Start it, once.
type Runner struct {
	reg   *synccontext.RegisterContext
	ready chan struct{}

	mu      sync.Mutex
	items   []Base
	started bool

	leads atomic.Bool // nothing is done before
}

// NewRunner returns a runner of that context.
func NewRunner(ctx *synccontext.RegisterContext) *Runner {
	return &Runner{reg: ctx, ready: make(chan struct{})}
}

// Register adds an item. It returns ErrStarted after Start.
func (r *Runner) Register(item Base) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return errors.Wrapf(ErrStarted, "cannot register %q", item.Name())
	}
	r.items = append(r.items, item)
	return nil
}

// Ready returns a channel that is closed when every item is registered and its
// controllers run.
func (r *Runner) Ready() <-chan struct{} { return r.ready }

// Start runs until the context ends, which is no error, or something fails. When it
// returns, all managers have stopped.
//
// With a ProcessManager nothing is initialized, read or synced before that is elected.
// Then Start ends with an error if it loses the election; if it is told to stop, the lease is
// given up when the other managers have stopped.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.begin(); err != nil {
		return err
	}
	if r.reg.ProcessManager == nil {
		return r.run(ctx)
	}
	return r.lead(ctx)
}

// run the items until the context ends or something fails.
func (r *Runner) run(ctx context.Context) error {
	// From here on nothing is added to the items.
	if err := each(r.items, "initialize", func(i Initializer) error { return i.Init(r.reg) }); err != nil {
		return err
	}
	for _, item := range r.items { // indices are of kinds that are served
		if err := known(r.reg, item); err != nil {
			return err
		}
	}
	if err := each(r.items, "register the indices of", func(i IndicesRegisterer) error { return i.RegisterIndices(r.reg) }); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	managers := []manager.Manager{r.reg.PhysicalManager, r.reg.VirtualManager}
	ended := make(chan error, len(managers))
	for _, m := range managers {
		go func() {
			defer stop() // one without the other is of no use
			ended <- m.Start(running)
		}()
	}
	err := r.register(running, managers)
	if err == nil {
		close(r.ready)
		<-running.Done()
	} else if ctx.Err() != nil {
		err = nil // told to stop while it waited
	}
	stop()
	for range managers {
		if end := <-ended; end != nil {
			err = errors.Wrap(end, "cannot run a manager")
		}
	}
	return err
}

func (r *Runner) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return ErrStarted
	}
	r.started = true
	return nil
}

// register waits for the caches and starts the controllers.
func (r *Runner) register(ctx context.Context, managers []manager.Manager) error {
	for _, m := range managers {
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("cannot fill the caches")
		}
	}
	for _, item := range r.items {
		if err := add(r.reg, item); err != nil {
			return err
		}
	}
	return nil
}

// add registers an item as everything that it is.
func add(reg *synccontext.RegisterContext, item Base) error {
	s, isSyncer := As[Syncer](item)
	if f, ok := As[FakeSyncer](item); ok {
		if isSyncer {
			f = second{f}
		}
		if err := RegisterFakeSyncer(reg, f); err != nil {
			return err
		}
	}
	if isSyncer {
		if err := RegisterSyncer(reg, s); err != nil {
			return err
		}
	}
	if s, ok := As[ControllerStarter](item); ok {
		return errors.Wrapf(s.Register(reg), "cannot register %q", item.Name())
	}
	return nil
}

// second is the fake syncer of an item that is a syncer as well: names of controllers
// are unique.
type second struct{ FakeSyncer }

func (s second) Name() string { return s.FakeSyncer.Name() + "-fake" }

func (s second) Unwrap() any { return s.FakeSyncer }

// each calls do for the items that have an interface.
func each[T any](items []Base, what string, do func(T) error) error {
	for _, item := range items {
		if t, ok := As[T](item); ok {
			if err := do(t); err != nil {
				return errors.Wrapf(err, "cannot %s %q", what, item.Name())
			}
		}
	}
	return nil
}

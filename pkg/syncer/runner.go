package syncer

import (
	"context"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// ErrStarted is returned if a Runner has already been started. Start returns ErrStarted unwrapped. Register returns an
// error that wraps ErrStarted.
var ErrStarted = errors.New("runner is started already")

// A Runner initializes, registers and runs items, such as syncers. Create it with NewRunner, call
// Register for each item, and call Start once. Start performs these steps:
//
//   - It calls all Initializers, and then all IndicesRegisterers.
//   - It starts both managers and waits for their caches.
//   - It registers each item as a FakeSyncer, a Syncer and a ControllerStarter, depending on which
//     of these interfaces the item implements.
type Runner struct {
	reg   *synccontext.RegisterContext
	ready chan struct{}

	mu      sync.Mutex
	items   []Base
	started bool

	elected atomic.Bool // the process leads, or led
}

// NewRunner returns a Runner for the clusters of a context.
func NewRunner(ctx *synccontext.RegisterContext) *Runner {
	return &Runner{reg: ctx, ready: make(chan struct{})}
}

// Register adds an item. After Start, Register returns an error that wraps ErrStarted.
func (r *Runner) Register(item Base) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return errors.Wrapf(ErrStarted, "cannot register %q", item.Name())
	}
	r.items = append(r.items, item)
	return nil
}

// Ready returns a channel that is closed when all items are registered and their
// controllers run.
func (r *Runner) Ready() <-chan struct{} { return r.ready }

// Start runs the items until the context ends, or until an item or a manager fails. It returns nil
// if the context ended. When it returns, all managers have stopped. A second call returns
// ErrStarted.
//
// With a ProcessManager, Start first waits until this process is elected. Until then Start initializes, reads and syncs
// nothing. Start returns an error if the process loses the election. When the context ends, the lease is released after
// the other managers have stopped.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.markStarted(); err != nil {
		return err
	}
	if r.reg.ProcessManager == nil {
		return r.run(ctx)
	}
	return r.runElected(ctx)
}

// run starts the items and managers and waits until the context ends or one of them
// fails.
func (r *Runner) run(ctx context.Context) error {
	// From here on the items do not change.
	if err := forEach(r.items, "initialize", func(i Initializer) error { return i.Init(r.reg) }); err != nil {
		return err
	}
	for _, item := range r.items { // an index needs a served kind
		if err := checkServed(r.reg, item); err != nil {
			return err
		}
	}
	if err := forEach(r.items, "register the indices of", func(i IndicesRegisterer) error {
		return i.RegisterIndices(r.reg)
	}); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	managers := []manager.Manager{r.reg.PhysicalManager, r.reg.VirtualManager}
	ended := make(chan error, len(managers))
	for _, m := range managers {
		go func() {
			defer stop() // if one manager ends, the other one stops
			ended <- m.Start(running)
		}()
	}
	err := r.register(running, managers)
	if err == nil {
		close(r.ready)
		<-running.Done()
	} else if ctx.Err() != nil {
		err = nil // the context ended during the start
	}
	stop()
	for range managers {
		if end := <-ended; end != nil {
			err = errors.Wrap(end, "cannot run a manager")
		}
	}
	return err
}

// markStarted returns ErrStarted unless this is the first call.
func (r *Runner) markStarted() error {
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
			return errors.New("cannot sync the caches")
		}
	}
	for _, item := range r.items {
		if err := addItem(r.reg, item); err != nil {
			return err
		}
	}
	return nil
}

// addItem registers an item under every interface that it implements.
func addItem(reg *synccontext.RegisterContext, item Base) error {
	s, isSyncer := As[Syncer](item)
	if f, ok := As[FakeSyncer](item); ok {
		if isSyncer {
			f = renamedFakeSyncer{f}
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

// A renamedFakeSyncer is the fake syncer of an item that is also a Syncer. It has a different name
// because names of controllers are unique.
type renamedFakeSyncer struct{ FakeSyncer }

func (s renamedFakeSyncer) Name() string { return s.FakeSyncer.Name() + "-fake" }

func (s renamedFakeSyncer) Unwrap() any { return s.FakeSyncer }

// forEach calls do for the items that implement T.
func forEach[T any](items []Base, what string, do func(T) error) error {
	for _, item := range items {
		if t, ok := As[T](item); ok {
			if err := do(t); err != nil {
				return errors.Wrapf(err, "cannot %s %q", what, item.Name())
			}
		}
	}
	return nil
}

package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Defaults of an informer.
const (
	DefaultResync      = 10 * time.Minute
	DefaultMinBackoff  = time.Second
	DefaultMaxBackoff  = 30 * time.Second
	DefaultMaxVanished = 10
)

// InformerOptions say how an informer works. The zero value is usable.
type InformerOptions struct {
	// Resync is how often the copy is compared with a list of the store, which
	// finds what vanished without an event. The default is DefaultResync; less
	// than zero is never.
	Resync time.Duration

	// MinBackoff and MaxBackoff bound the pause before a watch is begun again. It
	// doubles while watches end before they have told everything, and what such a watch
	// took is taken off it: a store that was waited for in vain for half a minute needs no
	// other half. The defaults are DefaultMinBackoff and DefaultMaxBackoff. The first time,
	// there is none.
	MinBackoff time.Duration
	MaxBackoff time.Duration

	// MaxVanished is how many objects may be missing at a time, without an event and
	// in a store whose entries do not expire, and count as deleted. If there are
	// more, they are held: a damaged disk loses many. The default is
	// DefaultMaxVanished; less than zero is any number.
	MaxVanished int

	// Logger is told of watches that ended, entries that cannot be decoded, and
	// stores that were replaced. The default is what SetDefaultLogger was given, as
	// package storecontroller does; without that it is dropped.
	Logger logging.Logger
}

func (o InformerOptions) defaulted() InformerOptions {
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.MinBackoff <= 0 {
		o.MinBackoff = DefaultMinBackoff
	}
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	if o.MaxBackoff == o.MinBackoff && o.MinBackoff < DefaultMaxBackoff {
		o.MaxBackoff = DefaultMaxBackoff
	}
	if o.MaxVanished == 0 {
		o.MaxVanished = DefaultMaxVanished
	}

	return o
}

// A Notification tells a handler that the copy has changed.
type Notification[T Object] struct {
	// Op is what happened.
	Op Op

	// Key of the object.
	Key string

	// Old is the object as it was before, New as it is now; one of them may be
	// the zero value. They are shared: do not change them.
	Old, New T

	// Initial: the object was there when the informer, or the handler, began.
	Initial bool
}

// Type tells what was created from what was updated and deleted: Old has the last object of
// a deletion. It is never Synced.
func (n Notification[T]) Type() DeltaType { return typeOf(n.Op, n.Old) }

// An Informer is a copy of a store in memory that follows it, however often the
// watch ends: then it watches again, compares, and tells the difference. What is
// missing after that, or in a list, is asked for singly before it counts as gone.
//
// If the store was made anew, or put back to an earlier state, or if too much is
// missing at once, what is missing was not deleted by anybody: it was lost. The informer holds such keys: it
// tells nobody of them until they come back, are deleted by name, or Release is
// called.
//
// Use NewInformer. Its methods may be called concurrently, before and after Start.
type Informer[T Object] struct {
	store Store[T]
	opts  InformerOptions
	once  sync.Once
	ended chan struct{}

	fallback atomic.Pointer[logging.Logger] // of who gave none in the options

	state[T]
}

// NewInformer returns an informer that is not running yet.
func NewInformer[T Object](s Store[T], o InformerOptions) *Informer[T] {
	return &Informer[T]{store: s, opts: o.defaulted(), ended: make(chan struct{}), state: newState[T]()}
}

// Store returns what the informer follows.
func (i *Informer[T]) Store() Store[T] { return i.store }

// SetDefaultLogger says who is told of what InformerOptions.Logger describes, if the
// options name nobody. The first call counts: of several controllers that share the
// informer, one is told. A nil logger changes nothing.
func (i *Informer[T]) SetDefaultLogger(l logging.Logger) {
	if l != nil {
		i.fallback.CompareAndSwap(nil, &l)
	}
}

// logger returns who is told.
func (i *Informer[T]) logger() logging.Logger {
	if i.opts.Logger != nil {
		return i.opts.Logger
	}
	if l := i.fallback.Load(); l != nil {
		return *l
	}

	return logging.NewNopLogger()
}

// NeedLeaderElection tells a manager that the copy is kept by those, too, who do
// not lead.
func (i *Informer[T]) NeedLeaderElection() bool { return false }

// Start follows the store until the context ends, and returns nil then. Called
// again, it waits for that as well, so that several controllers may share an
// informer.
func (i *Informer[T]) Start(ctx context.Context) error {
	first := false
	i.once.Do(func() { first = true })
	if !first {
		select {
		case <-ctx.Done():
		case <-i.ended:
		}

		return nil
	}
	defer close(i.ended)
	i.follow(ctx)

	return nil
}

// follow watches again and again.
func (i *Informer[T]) follow(ctx context.Context) {
	pause := i.opts.MinBackoff
	for first := true; ctx.Err() == nil; first = false {
		began := time.Now()
		synced, err := i.watch(ctx, !first)
		if ctx.Err() != nil {
			return
		}
		rest := max(i.opts.MinBackoff, pause-time.Since(began))
		if synced {
			pause, rest = i.opts.MinBackoff, i.opts.MinBackoff
		}
		i.logger().Info("Watch ended, watching again", "store", i.store.Name(), "error", message(err), "pause", rest)
		if !wait(ctx, rest) {
			return
		}
		if !synced {
			pause = min(2*pause, i.opts.MaxBackoff)
		}
	}
}

// watch follows one watch to its end, and tells whether it told everything.
func (i *Informer[T]) watch(ctx context.Context, again bool) (synced bool, err error) {
	w, err := i.store.Watch(ctx)
	if err != nil {
		return false, err
	}
	defer w.Stop()

	s := &session[T]{informer: i, again: again, seen: map[string]struct{}{}}
	tick := make(<-chan time.Time)
	if i.opts.Resync > 0 {
		ticker := time.NewTicker(i.opts.Resync)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case e, ok := <-w.Events():
			if !ok {
				return s.synced, w.Err()
			}
			if err := s.take(ctx, e); err != nil {
				return s.synced, err
			}
		case <-tick:
			if err := s.resync(ctx); err != nil {
				return s.synced, err
			}
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

// WaitForSync waits until the copy is whole for the first time.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	return errors.Wrapf(i.await(ctx, func() bool { return i.synced }), "cannot wait for the copy of store %s", i.store.Name())
}

// WaitForRevision waits until the copy has everything up to the revision, such as
// that of an object just written. Revisions are those of the present epoch.
func (i *Informer[T]) WaitForRevision(ctx context.Context, revision uint64) error {
	return errors.Wrapf(i.await(ctx, func() bool { return i.revision >= revision }), "cannot wait for revision %d of store %s", revision, i.store.Name())
}

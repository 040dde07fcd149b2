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

// InformerOptions configure an informer. The zero value is usable.
type InformerOptions struct {
	// Resync is the interval at which the cache is compared with a list of the store, to find objects that were
	// removed without an event. The default is DefaultResync. A negative value disables it.
	Resync time.Duration

	// MinBackoff and MaxBackoff limit the backoff before a new watch. The backoff doubles while watches end before their
	// snapshot is complete. The duration of the ended watch is subtracted from the backoff, so a store that blocks until a
	// timeout is not delayed further. The defaults are DefaultMinBackoff and DefaultMaxBackoff. There is no backoff before
	// the first watch.
	MinBackoff time.Duration
	MaxBackoff time.Duration

	// MaxVanished is the number of objects that may disappear at once, without an event, and still count as deleted. It
	// applies to stores whose entries do not expire. If more objects are missing, the informer holds them (see Informer),
	// because a damaged disk loses many objects at once. The default is DefaultMaxVanished. A negative value removes the
	// limit.
	MaxVanished int

	// Logger receives messages about ended watches, entries that cannot be decoded, and replaced stores. The default is
	// the logger given to SetDefaultLogger, which package storecontroller calls. Without either logger, messages are
	// discarded.
	Logger logging.Logger
}

// withDefaults returns the options with their defaults.
func (o InformerOptions) withDefaults() InformerOptions {
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

// A Notification reports a change of the cache to a handler.
type Notification[T Object] struct {
	// Op is the kind of the change.
	Op Op

	// Key is the key of the object.
	Key string

	// Old is the previous object and New the current one; one of them may be the zero value. They are shared: do not
	// modify them.
	Old, New T

	// Initial is true if the object existed when the informer was started or the handler was added.
	Initial bool
}

// Type returns Created, Updated or Deleted, and never Synced. Old is the last object of a deletion.
func (n Notification[T]) Type() DeltaType { return typeOf(n.Op, n.Old) }

// An Informer keeps a cache of a store. When a watch ends, the informer starts another one and compares the cache with
// its snapshot. A key that is missing in a snapshot or a list counts as deleted only after a live read has not found it
// either.
//
// Missing objects count as lost, not as deleted, if the store was created again or restored from a backup, or if too
// many keys are missing at once. The informer holds the keys of lost objects. It notifies handlers of a held key only
// when its object exists again, the store reports its deletion, or Release is called.
//
// Use NewInformer; the zero value is not usable. Its methods may be called concurrently, before and after Start.
type Informer[T Object] struct {
	store Store[T]
	opts  InformerOptions
	once  sync.Once
	ended chan struct{}

	defaultLogger atomic.Pointer[logging.Logger] // used if the options have none

	state[T]
}

// NewInformer returns an informer that is not started yet.
func NewInformer[T Object](s Store[T], o InformerOptions) *Informer[T] {
	return &Informer[T]{store: s, opts: o.withDefaults(), ended: make(chan struct{}), state: newState[T]()}
}

// Store returns the store of the informer.
func (i *Informer[T]) Store() Store[T] { return i.store }

// SetDefaultLogger sets the logger to use if InformerOptions.Logger is not set. Only the first call has an effect, so
// one of the controllers that share the informer provides the logger. A nil logger is ignored.
func (i *Informer[T]) SetDefaultLogger(l logging.Logger) {
	if l != nil {
		i.defaultLogger.CompareAndSwap(nil, &l)
	}
}

// logger returns the logger of the options, the default logger, or one that discards.
func (i *Informer[T]) logger() logging.Logger {
	if i.opts.Logger != nil {
		return i.opts.Logger
	}
	if l := i.defaultLogger.Load(); l != nil {
		return *l
	}

	return logging.NewNopLogger()
}

// NeedLeaderElection returns false: a manager also starts the informer on replicas that are not the leader.
func (i *Informer[T]) NeedLeaderElection() bool { return false }

// Start watches the store until the context ends, and then returns nil. Further calls only wait for the end of the
// first, so several controllers may share an informer.
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

// follow starts a new watch, with backoff, whenever one ends.
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

// watch processes one watch until it ends, and returns whether its snapshot was complete.
func (i *Informer[T]) watch(ctx context.Context, rewatch bool) (synced bool, err error) {
	w, err := i.store.Watch(ctx)
	if err != nil {
		return false, err
	}
	defer w.Stop()

	s := &session[T]{informer: i, rewatch: rewatch, seen: map[string]struct{}{}}
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
			if err := s.handle(ctx, e); err != nil {
				return s.synced, err
			}
		case <-tick:
			if err := s.resync(ctx); err != nil {
				return s.synced, err
			}
		}
	}
}

// wait returns false if the context ends before the duration has passed.
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

// message returns the text of an error, or "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

// WaitForSync waits for the first complete snapshot.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	return errors.Wrapf(i.await(ctx, func() bool { return i.synced }), "cannot wait for the cache of store %s",
		i.store.Name())
}

// WaitForRevision waits until the cache includes all changes up to the revision. The revision is, for instance, that of
// an object the caller has written, in the current epoch of the store.
func (i *Informer[T]) WaitForRevision(ctx context.Context, revision uint64) error {
	return errors.Wrapf(i.await(ctx, func() bool { return i.revision >= revision }),
		"cannot wait for revision %d of store %s", revision, i.store.Name())
}

package storecontroller

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	pkgcontroller "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Controller reconciles the primaries in a store. Use New or NewFunc; the zero value is not usable. Its methods
// may be called concurrently.
type Controller[T store.Object] struct {
	name       string
	kind       string
	primary    *store.Informer[T]
	reconciler Reconciler[T]
	opts       Options
	owned      []secondaryLister
	deletable  []secondaryLister // those of owned that DeleteWithPrimary wraps
	informers  []manager.Runnable
	pusher     Pusher
	inner      controller.TypedController[Request]
	jitter     func() float64 // in [0, 1); spreads resyncs
	suspects   map[string]int // garbage candidates by id, with the number of failed deletions

	mu         sync.Mutex
	lastWrites map[string]uint64 // revision of the controller's last write, by key
}

// New returns a controller for the objects of the informer. It adds to the manager the controller and the informers of
// all stores that the controller needs. kind is the kind of the primaries in events, and in the marks that name the
// owner of a secondary (see Marks). The name is unique in a process.
//
// Without a manager New adds nothing: the caller starts the controller and its Informers, and there is no leader
// election.
func New[T store.Object](mgr manager.Manager, name, kind string, primary *store.Informer[T], r Reconciler[T], o Options,
	deps ...Dependency) (*Controller[T], error) {
	return NewFunc(mgr, name, kind, primary, func(*Controller[T]) Reconciler[T] { return r }, o, deps...)
}

// NewFunc creates a controller whose reconciler calls methods of the controller, to mark secondaries, to write
// primaries or to record events. NewFunc calls build once, with the controller that it returns, before anything runs.
// build may store the controller in the reconciler, but must not call its methods. NewFunc returns an error if build is
// nil or returns nil. Otherwise it does what New does.
func NewFunc[T store.Object](
	mgr manager.Manager, name, kind string, primary *store.Informer[T], build func(c *Controller[T]) Reconciler[T],
	o Options, deps ...Dependency,
) (*Controller[T], error) {
	c := &Controller[T]{
		name: name, kind: kind, primary: primary, opts: o.withDefaults(mgr, name),
		jitter: rand.Float64, suspects: map[string]int{}, lastWrites: map[string]uint64{},
	}
	if build != nil {
		c.reconciler = build(c)
	}
	if c.reconciler == nil {
		return nil, errors.Errorf("cannot build controller %s without a reconciler", name)
	}
	if err := c.build(mgr, deps); err != nil {
		return nil, errors.Wrapf(err, "cannot build controller %s", name)
	}
	if mgr == nil {
		return c, nil
	}
	for _, i := range c.informers {
		if err := mgr.Add(i); err != nil {
			return nil, errors.Wrap(err, "cannot add an informer to the manager")
		}
	}

	return c, errors.Wrapf(mgr.Add(c), "cannot add controller %s to the manager", name)
}

// build creates the controller of controller-runtime and its sources.
func (c *Controller[T]) build(mgr manager.Manager, deps []Dependency) error {
	b := binding{name: c.name, kind: c.kind, marks: c.opts.Marks, logger: c.opts.Logger}
	typed := c.opts.TypedOptions
	typed.Reconciler = pass[T]{c}
	if typed.NewQueue == nil {
		typed.NewQueue = pkgcontroller.NewQueue[Request]
	}
	if mgr != nil {
		b.kube = mgr.GetClient()
	}
	if typed.LogConstructor == nil {
		typed.LogConstructor = logConstructor(typed.Logger.WithValues("controller", c.name))
	}
	inner, err := controller.NewTypedUnmanaged(c.name, typed)
	if err != nil {
		return err
	}
	c.inner = inner
	c.informers = []manager.Runnable{c.primary}
	c.primary.SetDefaultLogger(c.opts.Logger)
	if err := inner.Watch(newStoreSource(c.primary, !c.opts.AllEvents, nil)); err != nil {
		return errors.Wrap(err, "cannot watch the primaries")
	}
	if err := inner.Watch(&c.pusher); err != nil {
		return errors.Wrap(err, "cannot watch the queue of Enqueue")
	}

	return c.bind(b, deps)
}

// logConstructor returns a function that adds the key of a request to the logger of its reconcile.
func logConstructor(l logr.Logger) func(*Request) logr.Logger {
	return func(req *Request) logr.Logger {
		if req == nil {
			return l
		}

		return l.WithValues("key", req.Key)
	}
}

// bind registers the watches of the dependencies, and collects their informers and secondaries.
func (c *Controller[T]) bind(b binding, deps []Dependency) error {
	for _, d := range deps {
		bound, err := d.bind(context.Background(), b)
		if err != nil {
			return err
		}
		if bound.source != nil {
			if err := c.inner.Watch(bound.source); err != nil {
				return errors.Wrap(err, "cannot watch a dependency")
			}
		}
		if bound.runnable != nil {
			c.informers = append(c.informers, bound.runnable)
		}
		if bound.owned != nil {
			c.owned = append(c.owned, bound.owned)
		}
		if bound.deletable {
			c.deletable = append(c.deletable, bound.owned)
		}
	}

	return nil
}

// Start runs the controller until the context ends. A manager calls it.
func (c *Controller[T]) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var resync sync.WaitGroup
	resync.Go(func() { c.resync(ctx) })
	defer resync.Wait()
	defer cancel()

	return c.inner.Start(ctx)
}

// Informers returns the informers of all stores. Without a manager, the caller starts each of them.
func (c *Controller[T]) Informers() []manager.Runnable { return c.informers }

// NeedLeaderElection returns whether the manager starts the controller only on the leader. The options set it.
func (c *Controller[T]) NeedLeaderElection() bool {
	l, ok := c.inner.(manager.LeaderElectionRunnable)

	return !ok || l.NeedLeaderElection()
}

// Warmup fills the queue before the controller leads, if the options enable it.
func (c *Controller[T]) Warmup(ctx context.Context) error {
	if w, ok := c.inner.(interface{ Warmup(context.Context) error }); ok {
		return w.Warmup(ctx)
	}

	return nil
}

// Enqueue enqueues primaries by their keys. Invalid keys are ignored.
func (c *Controller[T]) Enqueue(keys ...string) { c.pusher.Push(keys...) }

// EnqueueAfter enqueues primaries after the delay.
func (c *Controller[T]) EnqueueAfter(d time.Duration, keys ...string) { c.pusher.PushAfter(d, keys...) }

// Owner returns the reference that marks an object in a store as a secondary of the primary. Add the reference to
// Metadata.Owners. Before the first complete snapshot of the informer, for instance in a unit test of a Reconciler,
// Owner reads the epoch from the store. If the store does not respond within StateTimeout, the reference has no epoch.
func (c *Controller[T]) Owner(primary T) store.Owner {
	m := primary.GetMetadata()
	owner := store.Owner{Kind: c.kind, Key: m.Key, UID: m.UID, Epoch: c.primary.State().Epoch, Revision: m.Revision}
	if owner.Epoch != "" {
		return owner
	}
	ctx, cancel := context.WithTimeout(context.Background(), StateTimeout)
	defer cancel()
	now, err := c.primary.Store().State(ctx)
	if err != nil {
		c.opts.Logger.Info("Marking without an epoch, because the state of the store cannot be read",
			"controller", c.name, "key", m.Key, "error", err.Error())
	}
	owner.Epoch = now.Epoch

	return owner
}

// SetOwner marks an object in Kubernetes as a secondary of the primary (see Marks). It does not change marks that are
// still valid. The marks thus keep the revision that the primary had when the object was created, so an update of the
// primary does not cause an update of the object.
func (c *Controller[T]) SetOwner(obj metav1.Object, primary T) {
	owner := c.Owner(primary)
	if has, err := c.opts.Marks.Owner(obj); err == nil && has.Kind == owner.Kind && has.Key == owner.Key &&
		has.Epoch == owner.Epoch && has.Revision <= owner.Revision {
		owner.Revision = has.Revision
	}
	c.opts.Marks.Set(obj, owner)
}

// Event records an event in Kubernetes about a primary. See event.Ref for the reference.
func (c *Controller[T]) Event(primary T, e event.Event) {
	m := primary.GetMetadata()
	c.event(m.Key, m.UID, e)
}

// event records an event about the primary of that key.
func (c *Controller[T]) event(key, uid string, e event.Event) {
	r := c.opts.Recorder.WithAnnotations(event.AnnotationKeyStored, key)
	r.Event(event.Ref(c.kind, c.opts.EventNamespace, key, uid), e)
}

// resync collects garbage once the primaries are known, and then at each interval enqueues all primaries and
// collects garbage again.
func (c *Controller[T]) resync(ctx context.Context) {
	if c.opts.Resync < 0 || c.primary.WaitForSync(ctx) != nil {
		return
	}
	for {
		if err := c.collectGarbage(ctx); err != nil && ctx.Err() == nil {
			c.opts.Logger.Info("Cannot collect garbage", "controller", c.name, "error", err.Error())
		}
		timer := c.opts.Clock.NewTimer(c.opts.Resync + time.Duration((c.jitter()-0.5)*float64(c.opts.Resync)/5))
		select {
		case <-ctx.Done():
			timer.Stop()

			return
		case <-timer.C():
		}
		c.pusher.push(pkgcontroller.PriorityPoll, 0, c.primary.Keys())
	}
}

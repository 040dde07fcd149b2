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

	ours "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Controller looks at primaries when something about them changes. Use New or NewFunc. Its
// methods may be called concurrently.
type Controller[T store.Object] struct {
	name       string
	kind       string
	primary    *store.Informer[T]
	reconciler Reconciler[T]
	opts       Options
	owned      []owned
	deleted    []owned // those of them that go with their primary
	informers  []manager.Runnable
	pusher     Pusher
	inner      controller.TypedController[Request]
	jitter     func() float64 // in [0, 1)
	suspects   map[string]int // how often they could not be deleted

	mu      sync.Mutex
	written map[string]uint64 // by key, what our own writes came to
}

// New returns a controller for the primaries of that informer, which are of that
// kind, and adds it to the manager with all informers of stores that it needs.
// Names are unique in a process.
//
// Without a manager nothing is added, and the caller runs Start; it does not lead,
// then, or elects by itself.
func New[T store.Object](mgr manager.Manager, name, kind string, primary *store.Informer[T], r Reconciler[T], o Options, deps ...Dependency) (*Controller[T], error) {
	return NewFunc(mgr, name, kind, primary, func(*Controller[T]) Reconciler[T] { return r }, o, deps...)
}

// NewFunc is New for a reconciler that needs its controller: to mark what it makes, to
// write primaries, to record events. The function is called once, before anything runs,
// with the controller that is returned; it may keep it, and calls none of its methods. It
// is an error if it returns nil.
func NewFunc[T store.Object](
	mgr manager.Manager, name, kind string, primary *store.Informer[T], build func(c *Controller[T]) Reconciler[T], o Options, deps ...Dependency,
) (*Controller[T], error) {
	c := &Controller[T]{
		name: name, kind: kind, primary: primary, opts: o.defaulted(mgr, name),
		jitter: rand.Float64, suspects: map[string]int{}, written: map[string]uint64{},
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

func (c *Controller[T]) build(mgr manager.Manager, deps []Dependency) error {
	b := binding{name: c.name, kind: c.kind, marks: c.opts.Marks, logger: c.opts.Logger}
	typed := c.opts.TypedOptions
	typed.Reconciler = pass[T]{c}
	if typed.NewQueue == nil {
		typed.NewQueue = ours.NewQueue[Request]
	}
	if mgr != nil {
		b.kube = mgr.GetClient()
	}
	if typed.LogConstructor == nil {
		typed.LogConstructor = logOf(typed.Logger.WithValues("controller", c.name))
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
		return errors.Wrap(err, "cannot watch for pushes")
	}

	return c.bind(b, deps)
}

// logOf lets controller-runtime say which key a pass is over.
func logOf(l logr.Logger) func(*Request) logr.Logger {
	return func(req *Request) logr.Logger {
		if req == nil {
			return l
		}

		return l.WithValues("key", req.Key)
	}
}

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
		if bound.deleted {
			c.deleted = append(c.deleted, bound.owned)
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

// Informers returns those of all stores, for who runs the controller without a
// manager: each is to be started.
func (c *Controller[T]) Informers() []manager.Runnable { return c.informers }

// NeedLeaderElection tells a manager what the options say.
func (c *Controller[T]) NeedLeaderElection() bool {
	l, ok := c.inner.(manager.LeaderElectionRunnable)

	return !ok || l.NeedLeaderElection()
}

// Warmup fills the queue before the controller leads, if the options say so.
func (c *Controller[T]) Warmup(ctx context.Context) error {
	if w, ok := c.inner.(interface{ Warmup(context.Context) error }); ok {
		return w.Warmup(ctx)
	}

	return nil
}

// Enqueue asks for passes over primaries.
func (c *Controller[T]) Enqueue(keys ...string) { c.pusher.Push(keys...) }

// EnqueueAfter asks for passes over primaries when the time has passed.
func (c *Controller[T]) EnqueueAfter(d time.Duration, keys ...string) { c.pusher.PushAfter(d, keys...) }

// Owner returns what marks an object of a store as made for the primary: put it
// into the Owners of its metadata. Before the informer has followed the store, as where a
// test calls a Reconciler by itself, the store is asked which one it is; if it does not
// answer within StateTimeout, the owner has no epoch.
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
		c.opts.Logger.Info("Marking without an epoch, as the store does not say which one it is", "controller", c.name, "key", m.Key, "error", err.Error())
	}
	owner.Epoch = now.Epoch

	return owner
}

// SetOwner marks an object in Kubernetes as made for the primary. Marks that are
// right already are left as they are: they hold the revision of the primary when
// the object was made, so that an object need not be written with each of its
// primary's revisions.
func (c *Controller[T]) SetOwner(obj metav1.Object, primary T) {
	owner := c.Owner(primary)
	if has, err := c.opts.Marks.Owner(obj); err == nil && has.Kind == owner.Kind && has.Key == owner.Key &&
		has.Epoch == owner.Epoch && has.Revision <= owner.Revision {
		owner.Revision = has.Revision
	}
	c.opts.Marks.Set(obj, owner)
}

// Event records an event about a primary, as one in Kubernetes: see event.Ref.
func (c *Controller[T]) Event(primary T, e event.Event) {
	m := primary.GetMetadata()
	c.event(m.Key, m.UID, e)
}

func (c *Controller[T]) event(key, uid string, e event.Event) {
	c.opts.Recorder.WithAnnotations(event.AnnotationKeyStored, key).Event(event.Ref(c.kind, c.opts.EventNamespace, key, uid), e)
}

// resync looks at all primaries and collects garbage, once when all is known, and
// then again and again.
func (c *Controller[T]) resync(ctx context.Context) {
	if c.opts.Resync < 0 || c.primary.WaitForSync(ctx) != nil {
		return
	}
	for {
		if err := c.collect(ctx); err != nil && ctx.Err() == nil {
			c.opts.Logger.Info("Cannot collect garbage", "controller", c.name, "error", err.Error())
		}
		timer := c.opts.Clock.NewTimer(c.opts.Resync + time.Duration((c.jitter()-0.5)*float64(c.opts.Resync)/5))
		select {
		case <-ctx.Done():
			timer.Stop()

			return
		case <-timer.C():
		}
		c.pusher.push(ours.PriorityPoll, 0, c.primary.Keys())
	}
}

package managed

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalEventSource tells what changes in the external system.
type ExternalEventSource interface {
	// Subscribe begins to tell what changes on the connection that the object uses,
	// and returns what ends it, which is called once. It is called in a pass, under
	// its deadline, for the first object that connects, and again when the
	// connection has another revision (see [ConnectionDescriber]) or after an error,
	// then later and later up to every five minutes. A panic is an error. While it does
	// not return, its pass waits, and the object says CallOverdue. The object is a copy. What the
	// subscription needs, such as a lease on the connection, it holds until it is
	// ended: when no object uses the connection any more, or the process ends.
	Subscribe(ctx context.Context, mg resource.Managed, to ExternalNotifications) (stop func(), err error)
}

// ExternalNotifications is what an [ExternalEventSource] tells. Its methods may be
// called concurrently, from Subscribe as well, return at once, and do nothing after
// the subscription was ended.
type ExternalNotifications interface {
	// Changed says that the external resources of these names have changed, come or
	// gone. It is no harm to say so too often, or of names that no object has.
	Changed(externalNames ...string)

	// Interrupted says that changes may not be told from now on.
	Interrupted()

	// Resumed says that they are told again; what happened meanwhile is looked for.
	Resumed()
}

// WithExternalEvents lets external resources be observed when the source says that
// they have changed. While it works, polls are made only every pollWhenHealthy, unless
// the object asks for its own interval; what is less than the poll interval changes
// nothing. While it does not, they are made as without it, and within a poll interval
// after it ceased to work or works again, all are looked at that it may be about. The
// default is to poll.
//
// An object is looked at before those that are polled and after those whose user
// waits, however often it is said to have changed within a moment just once. [Setup]
// does what is needed for it; without that, add [Reconciler.Notifications] to the
// controller.
func WithExternalEvents(s ExternalEventSource, pollWhenHealthy time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.notifier, r.watchedPollInterval = s, min(pollWhenHealthy, maxPollInterval) }
}

// How long changes of the same resource are gathered.
const gathering = 200 * time.Millisecond

// A waker has the queue in which objects are put that are to be looked at.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // nil: there is none
}

// Notifications returns what wakes objects of which an [ExternalEventSource] tells. It
// ends with the context that it is started under, and with it all subscriptions.
func (r *Reconciler) Notifications() source.TypedSource[reconcile.Request] {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.waker.set(q)
		context.AfterFunc(ctx, func() {
			r.waker.set(nil)
			if r.lists != nil {
				r.lists.Close()
			}
		})

		return nil
	})
}

func (w *waker) set(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
}

// ready says whether anybody can be woken.
func (w *waker) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.queue != nil
}

// wake puts an object into the queue. One that is there already keeps the earlier
// time, and the higher priority.
func (w *waker) wake(key listcache.Key, after time.Duration, u lifecycle.Priority) {
	w.mu.Lock()
	defer w.mu.Unlock()
	request := reconcile.Request{NamespacedName: types.NamespacedName(key)}
	switch q := w.queue.(type) {
	case nil:
	case priorityqueue.PriorityQueue[reconcile.Request]:
		q.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: new(priorities[u])}, request)
	default:
		q.AddAfter(request, after)
	}
}

// subscribe to what changes on the connection of this pass, if nobody has.
func (p *clientSession) subscribe(ctx context.Context) {
	if p.r.notifier == nil || !p.r.waker.ready() {
		return
	}
	watch := p.r.lists.Subscribe(p.member, p.now())
	if watch == nil {
		return
	}
	ctx, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	// A connecter that panics is not to leave the connection waiting for ever.
	stop, err := func() {}, errors.New("the source panicked")
	defer func() {
		if err != nil {
			after := watch.Failed(p.now())
			p.log().Info("Cannot subscribe to external events, trying again", "connection", p.connection.Name,
				"after", after.String(), "error", p.redact(err))
		} else {
			watch.Begun(stop, p.now())
		}
		p.r.telemetry.Watches(p.r.lists.Watches())
	}()
	err = p.guarded("subscribe", func() (err error) {
		stop, err = p.r.notifier.Subscribe(ctx, clone(p.mg), &notifications{p.r, watch})

		return err
	})
	if err == nil && stop == nil {
		stop = func() {}
	}
}

// applyNotification makes a pass more urgent than a poll if somebody said that the resource has
// changed.
func (p *schedule) applyNotification() {
	if p.member = p.state.member; p.member != nil && p.priority == lifecycle.Poll && p.r.lists.Notified(p.member) {
		p.priority, p.nextPriority = lifecycle.Retry, lifecycle.Retry
	}
}

// watchedInterval returns the poll interval of an object of which changes are told.
func (p *clientSession) watchedInterval(interval time.Duration) time.Duration {
	_, own, err := meta.GetPollInterval(p.mg)
	if own && err == nil || p.member == nil || !p.r.lists.Watched(p.member) {
		return interval
	}

	return max(interval, p.r.watchedPollInterval)
}

// Notifications of one subscription.
type notifications struct {
	r     *Reconciler
	watch *listcache.Watch
}

func (n *notifications) Changed(names ...string) {
	for _, name := range names {
		keys, ok := n.watch.Changed(name, n.r.clock.Now())
		if !ok {
			return
		}
		if len(keys) == 0 {
			n.r.telemetry.Notified(telemetry.Unknown)

			continue
		}
		for _, key := range keys {
			n.r.telemetry.Notified(telemetry.Woke)
			n.r.waker.wake(key, gathering, lifecycle.Retry)
		}
	}
}

func (n *notifications) Interrupted() { n.wake(n.watch.Interrupted()) }

func (n *notifications) Resumed() { n.wake(n.watch.Resumed(n.r.clock.Now())) }

// wake lets all be looked at within a poll interval.
func (n *notifications) wake(keys []listcache.Key) {
	for _, key := range keys {
		n.r.waker.wake(key, time.Duration(n.r.random()*float64(n.r.pollInterval)), lifecycle.Poll)
	}
	n.r.telemetry.Watches(n.r.lists.Watches())
}

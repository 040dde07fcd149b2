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

// An ExternalEventSource notifies the reconciler of changes in the external system.
type ExternalEventSource interface {
	// Subscribe subscribes to changes on the connection of mg, and returns a function that ends the subscription. The
	// reconciler calls that function once: when no object uses the connection any more, or when the process ends. Until
	// then the subscription keeps what it needs, such as a lease on the connection. The object mg is a copy.
	//
	// The reconciler calls Subscribe for the first object that connects, in the pass of the object and under the deadline
	// of the pass. It calls Subscribe again when the connection has another revision, see [ConnectionDescriber]. After an
	// error or a panic it calls Subscribe again with a backoff of up to five minutes. If Subscribe does not return, the
	// pass waits, and the condition Synced has the reason CallOverdue.
	Subscribe(ctx context.Context, mg resource.Managed, to ExternalNotifications) (stop func(), err error)
}

// ExternalNotifications receives the notifications of an [ExternalEventSource]. Its methods may be called
// concurrently, also from within Subscribe. They return at once. After the end of the subscription they do nothing.
type ExternalNotifications interface {
	// Changed reports that the external resources with these names were changed, created or deleted. Redundant calls,
	// and names without an object, are harmless.
	Changed(externalNames ...string)

	// Interrupted reports that notifications may be missing from now on.
	Interrupted()

	// Resumed reports that notifications are complete again. Polls find the changes that were made in the meantime.
	Resumed()
}

// WithExternalEvents observes external resources when the source reports that they have changed. The default is to
// poll.
//
// While the source works, each object is polled only every pollWhenHealthy, unless it has an annotation with its own
// poll interval. A pollWhenHealthy below the poll interval has no effect. While the source does not work, objects are
// polled as usual. After the source is interrupted or resumed, all objects of its connection are observed within a
// poll interval.
//
// A notified object has a higher priority than polls, and a lower priority than objects whose user waits. Several
// notifications within a moment cause one pass. [Setup] adds the source to the controller. Without [Setup], add
// [Reconciler.Notifications].
func WithExternalEvents(s ExternalEventSource, pollWhenHealthy time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.notifier, r.watchedPollInterval = s, min(pollWhenHealthy, maxPollInterval) }
}

// How long notifications for the same resource are batched.
const gathering = 200 * time.Millisecond

// A waker has the queue to which notified objects are added.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // nil: the controller was not started
}

// Notifications returns the source that enqueues the objects of which an [ExternalEventSource] reports changes. The
// source and all subscriptions end with the context with which the source was started.
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

// wake adds an object to the queue. An object that is queued already keeps the earlier time, and the higher
// priority.
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

// subscribe subscribes to changes on the connection of this pass, unless there is a subscription.
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
	// The connection does not wait forever after a panic.
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

// ready reports whether there is a queue.
func (w *waker) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.queue != nil
}

// applyNotification raises the priority of a pass above that of a poll if a notification has caused it.
func (p *schedule) applyNotification() {
	if p.member = p.state.member; p.member != nil && p.priority == lifecycle.Poll && p.r.lists.Notified(p.member) {
		p.priority, p.nextPriority = lifecycle.Retry, lifecycle.Retry
	}
}

// watchedInterval returns the poll interval of an object with a working event source.
func (p *clientSession) watchedInterval(interval time.Duration) time.Duration {
	_, own, err := meta.GetPollInterval(p.mg)
	if own && err == nil || p.member == nil || !p.r.lists.Watched(p.member) {
		return interval
	}

	return max(interval, p.r.watchedPollInterval)
}

// notifications receives the notifications of one subscription.
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

// wake enqueues the objects, spread over a poll interval.
func (n *notifications) wake(keys []listcache.Key) {
	for _, key := range keys {
		n.r.waker.wake(key, time.Duration(n.r.random()*float64(n.r.pollInterval)), lifecycle.Poll)
	}
	n.r.telemetry.Watches(n.r.lists.Watches())
}

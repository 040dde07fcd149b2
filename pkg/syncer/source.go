package syncer

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// A queue is the queue of a controller.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A hostWatch maps events of host objects to virtual names. If the mapping fails, it stores the
// event and retries it.
type hostWatch struct {
	r *reconciler

	mu     sync.Mutex
	retry  retryQueue                   // nil before start
	failed map[hostObject]client.Object // the last object of each event to retry
}

// A hostObject identifies one host object by its name and UID. A recreated host object has another
// UID.
type hostObject struct {
	name types.NamespacedName
	uid  types.UID
}

// hostObjectOf returns the identity of a host object.
func hostObjectOf(obj client.Object) hostObject {
	return hostObject{client.ObjectKeyFromObject(obj), obj.GetUID()}
}

// A retryQueue contains host objects whose mapping failed.
type retryQueue = workqueue.TypedRateLimitingInterface[hostObject]

// newHostWatch returns the watch of a reconciler's host objects.
func newHostWatch(r *reconciler) *hostWatch {
	return &hostWatch{r: r, failed: map[hostObject]client.Object{}}
}

// sources returns the sources of the controller, except the source of virtual objects.
func (w *hostWatch) sources() []source.Source {
	return []source.Source{
		source.Kind(w.r.reg.PhysicalManager.GetCache(), w.r.syncer.Resource(), w.handler()),
		source.Func(w.start),
	}
}

// handler returns the event handler of host objects.
func (w *hostWatch) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, q queue) { w.handleEvent(e.Object, false, q) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, q queue) { w.handleEvent(e.ObjectNew, false, q) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { w.handleEvent(e.Object, true, q) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { w.handleEvent(e.Object, false, q) },
	}
}

// handleEvent enqueues the virtual objects that wait for the host name, and the virtual
// object that owns the host object.
func (w *hostWatch) handleEvent(obj client.Object, gone bool, q queue) {
	w.r.tracker.observe(physical, obj, gone)
	host := client.ObjectKeyFromObject(obj)
	for _, v := range w.r.tracker.takeWaiters(host) {
		q.Add(reconcile.Request{NamespacedName: v})
	}
	if err := w.enqueueVirtual(obj, q); err != nil {
		logging.Error(w.r.log, redact.Error(err), "Cannot determine the owner of a physical object",
			"object", host.String(), "dropped", w.r.options.legacy)
		if !w.r.options.legacy {
			w.addFailed(hostObjectOf(obj), obj)
		}
		return
	}
	w.removeFailed(hostObjectOf(obj))
}

// enqueueVirtual enqueues the virtual name of a managed host object.
func (w *hostWatch) enqueueVirtual(obj client.Object, q queue) error {
	managed, err := w.r.syncer.IsManaged(obj)
	if err != nil || !managed {
		return err
	}
	v, err := VirtualName(w.r.syncer, obj)
	if err == nil && v.Name != "" {
		w.r.tracker.addHostName(v, client.ObjectKeyFromObject(obj))
		q.Add(reconcile.Request{NamespacedName: v})
	}
	return err
}

// addFailed stores an event to be retried with backoff.
func (w *hostWatch) addFailed(host hostObject, obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[host] = obj
	if w.retry != nil {
		w.retry.AddRateLimited(host)
	}
}

// removeFailed forgets the stored event of a host object and its backoff.
func (w *hostWatch) removeFailed(host hostObject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.failed, host)
	if w.retry == nil {
		return
	}
	w.retry.Forget(host)
}

// start retries stored events until the controller stops. The queue is created here and not in
// newHostWatch, because a controller that stops before it starts its sources would leak the queue.
func (w *hostWatch) start(ctx context.Context, q queue) error {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[hostObject](
		ratelimiter.BackOffBase, ratelimiter.BackOffMax)
	retry := workqueue.NewTypedRateLimitingQueue(limiter)
	w.mu.Lock()
	defer w.mu.Unlock()
	for host := range w.failed {
		retry.AddRateLimited(host)
	}
	w.retry = retry
	go func() {
		context.AfterFunc(ctx, retry.ShutDown)
		for w.processNextRetry(retry, q) {
		}
	}()
	return nil
}

// processNextRetry waits for the next event and retries it. It returns false after the
// queue has been shut down.
func (w *hostWatch) processNextRetry(retry retryQueue, q queue) bool {
	host, shutdown := retry.Get()
	if !shutdown {
		w.retryEvent(host, retry, q)
	}
	return !shutdown
}

// retryEvent retries the stored event of a host object.
func (w *hostWatch) retryEvent(host hostObject, retry retryQueue, q queue) {
	defer retry.Done(host)
	w.mu.Lock()
	obj := w.failed[host]
	w.mu.Unlock()
	if obj == nil {
		return // a newer event was handled
	}
	if err := w.enqueueVirtual(obj, q); err != nil {
		retry.AddRateLimited(host)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed[host] == obj {
		delete(w.failed, host)
	}
	retry.Forget(host)
}

// virtualPredicate accepts every event of a virtual object and passes it to the tracker.
func virtualPredicate(m *tracker) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { m.observe(virtual, e.Object, false); return true },
		UpdateFunc:  func(e event.UpdateEvent) bool { m.observe(virtual, e.ObjectNew, false); return true },
		DeleteFunc:  func(e event.DeleteEvent) bool { m.observe(virtual, e.Object, true); return true },
		GenericFunc: func(event.GenericEvent) bool { return true },
	}
}

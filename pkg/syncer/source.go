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

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A hostWatch leads events of host objects to virtual names. An event whose name
// cannot be told now is kept and tried again.
type hostWatch struct {
	r *reconciler

	mu    sync.Mutex
	retry retries                      // nil before start
	kept  map[hostObject]client.Object // the newest object of an event that is tried again
}

// A hostObject is one object of the host: what is known of it says nothing of another
// one that has its name later.
type hostObject struct {
	name types.NamespacedName
	uid  types.UID
}

func hostObjectOf(obj client.Object) hostObject {
	return hostObject{client.ObjectKeyFromObject(obj), obj.GetUID()}
}

type retries = workqueue.TypedRateLimitingInterface[hostObject]

func newHostWatch(r *reconciler) *hostWatch {
	return &hostWatch{r: r, kept: map[hostObject]client.Object{}}
}

// sources are what the controller watches besides the virtual objects.
func (w *hostWatch) sources() []source.Source {
	return []source.Source{
		source.Kind(w.r.reg.PhysicalManager.GetCache(), w.r.syncer.Resource(), w.handler()),
		source.Func(w.start),
	}
}

func (w *hostWatch) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, q queue) { w.seen(e.Object, false, q) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, q queue) { w.seen(e.ObjectNew, false, q) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { w.seen(e.Object, true, q) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { w.seen(e.Object, false, q) },
	}
}

// seen wakes whoever waits for the name, and whoever the object belongs to.
func (w *hostWatch) seen(obj client.Object, gone bool, q queue) {
	w.r.mem.observed(physical, obj, gone)
	host := client.ObjectKeyFromObject(obj)
	for _, v := range w.r.mem.wake(host) {
		q.Add(reconcile.Request{NamespacedName: v})
	}
	if err := w.lead(obj, q); err != nil {
		logging.Error(w.r.log, redact.Error(err), "Cannot tell whose a physical object is", "object", host.String(), "lost", w.r.o.legacy)
		if !w.r.o.legacy {
			w.keep(hostObjectOf(obj), obj)
		}
		return
	}
	w.drop(hostObjectOf(obj))
}

// lead enqueues the virtual name of a host object.
func (w *hostWatch) lead(obj client.Object, q queue) error {
	managed, err := w.r.syncer.IsManaged(obj)
	if err != nil || !managed {
		return err
	}
	v, err := VirtualName(w.r.syncer, obj)
	if err == nil && v.Name != "" {
		w.r.mem.remember(v, client.ObjectKeyFromObject(obj))
		q.Add(reconcile.Request{NamespacedName: v})
	}
	return err
}

func (w *hostWatch) keep(host hostObject, obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept[host] = obj
	if w.retry != nil {
		w.retry.AddRateLimited(host)
	}
}

func (w *hostWatch) drop(host hostObject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.kept, host)
	if w.retry == nil {
		return
	}
	w.retry.Forget(host)
}

// start tries kept events again until the controller stops. The queue is made here,
// because a controller that is stopped at once never starts its sources.
func (w *hostWatch) start(ctx context.Context, q queue) error {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[hostObject](ratelimiter.BackOffBase, ratelimiter.BackOffMax)
	retry := workqueue.NewTypedRateLimitingQueue(limiter)
	w.mu.Lock()
	defer w.mu.Unlock()
	for host := range w.kept {
		retry.AddRateLimited(host)
	}
	w.retry = retry
	go func() {
		context.AfterFunc(ctx, retry.ShutDown)
		for w.again(retry, q) {
		}
	}()
	return nil
}

// again tries the next event, once one is due, and tells whether there may be more.
func (w *hostWatch) again(retry retries, q queue) bool {
	host, shutdown := retry.Get()
	if !shutdown {
		w.try(host, retry, q)
	}
	return !shutdown
}

// try an event again.
func (w *hostWatch) try(host hostObject, retry retries, q queue) {
	defer retry.Done(host)
	w.mu.Lock()
	obj := w.kept[host]
	w.mu.Unlock()
	if obj == nil {
		return // a newer event did it
	}
	if err := w.lead(obj, q); err != nil {
		retry.AddRateLimited(host)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept[host] == obj {
		delete(w.kept, host)
	}
	retry.Forget(host)
}

// virtualSeen lets every event of a virtual object through, and notes what the
// cache shows.
func virtualSeen(m *memory) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { m.observed(virtual, e.Object, false); return true },
		UpdateFunc:  func(e event.UpdateEvent) bool { m.observed(virtual, e.ObjectNew, false); return true },
		DeleteFunc:  func(e event.DeleteEvent) bool { m.observed(virtual, e.Object, true); return true },
		GenericFunc: func(event.GenericEvent) bool { return true },
	}
}

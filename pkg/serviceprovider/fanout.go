package serviceprovider

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// fanOut is an event handler that requeues, with low priority, all objects that are affected by a changed object.
type fanOut struct {
	mapFunc func(ctx context.Context, o client.Object) []reconcile.Request
}

// Create enqueues the requests of the event's object. It ignores the objects of the initial list, because the
// controller reconciles all objects after a start.
func (f fanOut) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if !e.IsInInitialList {
		f.enqueue(ctx, e.Object, q)
	}
}

// Update enqueues the requests of the event's object if its resourceVersion has changed.
func (f fanOut) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
		f.enqueue(ctx, e.ObjectNew, q)
	}
}

// Delete enqueues the requests of the event's object.
func (f fanOut) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	f.enqueue(ctx, e.Object, q)
}

// Generic enqueues the requests of the event's object.
func (f fanOut) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	f.enqueue(ctx, e.Object, q)
}

// enqueue enqueues the requests to which the object is mapped.
func (f fanOut) enqueue(ctx context.Context, o client.Object, q queue) {
	enqueueLowPriority(q, f.mapFunc(ctx, o))
}

// enqueueLowPriority adds requests with low priority, if the queue has priorities.
func enqueueLowPriority(q queue, requests []reconcile.Request) {
	p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, requests...)

		return
	}
	for _, r := range requests {
		q.Add(r)
	}
}

// enqueueAll returns a request for each object of the service. It lists the objects from the cache of the controller.
// If the list fails, it logs the error, and the objects are reconciled at the poll interval.
func (r *APIReconciler[T, C]) enqueueAll(ctx context.Context) []reconcile.Request {
	return r.enqueue(ctx, func(T) bool { return true })
}

// enqueueUsers returns a request for each object that uses a configuration or would use it now.
func (r *APIReconciler[T, C]) enqueueUsers(ctx context.Context, changed C) []reconcile.Request {
	same := func(c C) bool {
		return !isNil(c) && client.ObjectKeyFromObject(c) == client.ObjectKeyFromObject(changed)
	}

	return r.enqueue(ctx, func(o T) bool {
		if _, known := r.states.At(client.ObjectKeyFromObject(o)); known != nil {
			if used, ok := known.lastConfig(); ok && same(used) {
				return true
			}
		}
		now, err := r.configs.ConfigFor(ctx, o)

		return err == nil && same(now) || err != nil && !errors.Is(err, ErrConfigNotFound)
	})
}

// enqueue returns a request for each object that the filter selects.
func (r *APIReconciler[T, C]) enqueue(ctx context.Context, filter func(T) bool) []reconcile.Request {
	all, err := listObjects(ctx, r.reader(), r.onboarding.Client(), r.newObject)
	if errors.Is(err, errUnknownKind) {
		logging.Error(r.logger, r.redactError(err), errUnknownKind.Error())

		return nil
	}
	if err != nil {
		logging.Error(r.logger, r.redactError(err), "failed to list objects")

		return nil
	}
	requests := make([]reconcile.Request, 0, len(all))
	for _, o := range all {
		if filter(o) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}

	return requests
}

// errUnknownKind means that a type is not in the scheme of a client.
var errUnknownKind = errors.New("failed to retrieve gvk")

// listObjects lists the objects of a kind without copies, so the caller must not modify them. It gets the kind from the
// scheme of the client. If the list type of the kind is not registered, it lists unstructured objects. In this case a
// reader with a cache needs another informer.
func listObjects[T client.Object](
	ctx context.Context, from client.Reader, c client.Client, empty func() T,
) ([]T, error) {
	gvk, err := c.GroupVersionKindFor(empty())
	if err != nil {
		return nil, errors.Wrap(errUnknownKind, err.Error())
	}
	object, err := c.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	list, ok := object.(client.ObjectList)
	if err != nil || !ok {
		untyped := &unstructured.UnstructuredList{}
		untyped.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		list = untyped
	}
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrapf(err, "cannot list objects of kind %s", gvk.Kind)
	}
	var all []T
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(T); ok {
			all = append(all, o)

			return nil
		}
		u, ok := item.(*unstructured.Unstructured)
		if !ok {
			return errors.Errorf("a list of kind %s holds %T", gvk.Kind, item)
		}
		o := empty()
		all = append(all, o)

		return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	})

	return all, errors.Wrap(err, "cannot read a list")
}

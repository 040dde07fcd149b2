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

// A fanOut lets many objects be looked at because of one, after everything that is more
// urgent.
type fanOut struct {
	to func(ctx context.Context, o client.Object) []reconcile.Request
}

// Create enqueues, but not for what was there when the program started: then
// everything is looked at anyway.
func (f fanOut) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if !e.IsInInitialList {
		f.enqueue(ctx, e.Object, q)
	}
}

// Update enqueues if anything has changed.
func (f fanOut) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
		f.enqueue(ctx, e.ObjectNew, q)
	}
}

// Delete enqueues.
func (f fanOut) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	f.enqueue(ctx, e.Object, q)
}

// Generic enqueues.
func (f fanOut) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	f.enqueue(ctx, e.Object, q)
}

func (f fanOut) enqueue(ctx context.Context, o client.Object, q queue) { add(q, f.to(ctx, o)) }

func add(q queue, requests []reconcile.Request) {
	p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, requests...)

		return
	}
	for _, r := range requests {
		q.Add(r)
	}
}

// EnqueueAll returns a request for each object of the service: from the cache that the
// controller has anyway. What cannot be listed is told, and polled.
func (r *APIReconciler[T, C]) enqueueAll(ctx context.Context) []reconcile.Request {
	return r.enqueue(ctx, func(T) bool { return true })
}

// EnqueueUsers returns a request for each object that uses a configuration, or would now:
// others have nothing to do with its change.
func (r *APIReconciler[T, C]) enqueueUsers(ctx context.Context, changed C) []reconcile.Request {
	same := func(c C) bool {
		return !isNil(c) && client.ObjectKeyFromObject(c) == client.ObjectKeyFromObject(changed)
	}

	return r.enqueue(ctx, func(o T) bool {
		if used, ok := r.memory.used(client.ObjectKeyFromObject(o)); ok && same(used) {
			return true
		}
		now, err := r.configs.ConfigFor(ctx, o)

		return err == nil && same(now) || err != nil && !errors.Is(err, ErrConfigNotFound)
	})
}

// Enqueue returns a request for each object that is concerned.
func (r *APIReconciler[T, C]) enqueue(ctx context.Context, concerned func(T) bool) []reconcile.Request {
	all, err := listOf(ctx, r.reader(), r.onboarding.Client(), r.empty)
	if errors.Is(err, errNoKind) {
		logging.Error(r.logger, r.redact(err), errNoKind.Error())

		return nil
	}
	if err != nil {
		logging.Error(r.logger, r.redact(err), "failed to list objects")

		return nil
	}
	requests := make([]reconcile.Request, 0, len(all))
	for _, o := range all {
		if concerned(o) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}

	return requests
}

// errNoKind says that a type is not in the scheme of a client.
var errNoKind = errors.New("failed to retrieve gvk")

// ListOf lists the objects of a kind, without copies: they must not be changed. The
// client knows the kind. One whose list has no type is listed unstructured, which takes
// another informer if the reader has a cache.
func listOf[T client.Object](ctx context.Context, from client.Reader, c client.Client, empty func() T) ([]T, error) {
	gvk, err := c.GroupVersionKindFor(empty())
	if err != nil {
		return nil, errors.Wrap(errNoKind, err.Error())
	}
	made, err := c.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	list, ok := made.(client.ObjectList)
	if err != nil || !ok {
		loose := &unstructured.UnstructuredList{}
		loose.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		list = loose
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

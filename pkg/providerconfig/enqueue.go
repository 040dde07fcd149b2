package providerconfig

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	moormeta "github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// EnqueueUsers returns a handler with which the controller of a managed kind watches a kind of configuration. The
// argument named "of" is an empty object of the managed kind. The client should be the client of the manager, which
// reads from a cache.
//
// The handler enqueues the objects that refer to a configuration, with low priority, when the configuration is created,
// gets its finalizer or changes its spec. Without the handler, all objects wait for their next retry or poll.
//
// When the condition Connected of the configuration becomes True after it was False, the handler enqueues only the
// objects whose condition Synced is not True or missing. Synced objects wait for their next poll, so that they add no
// load to an external system that recovers.
//
// EnqueueUsers returns an error if a kind is not registered in the scheme of the client.
func EnqueueUsers(c client.Client, kinds Kinds, of User) (handler.EventHandler, error) {
	configs, err := newConfigKinds(kinds, c)
	if err != nil {
		return nil, err
	}
	gvk, err := c.GroupVersionKindFor(of)
	if err != nil {
		return nil, errors.Wrap(err, "cannot determine the kind of a user")
	}
	if _, err := newList(c.Scheme(), gvk); err != nil {
		return nil, err
	}
	enqueue := func(ctx context.Context, config client.Object, q queue, include func(User) bool) {
		for _, request := range requestsForUsers(ctx, c, configs, gvk, config, include) {
			if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
				p.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, request)

				continue
			}
			q.Add(request)
		}
	}

	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList { // then the controller reconciles all objects anyway
				enqueue(ctx, e.Object, q, anyUser)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			switch {
			case affectsUsers(e.ObjectOld, e.ObjectNew):
				enqueue(ctx, e.ObjectNew, q, anyUser)
			case reconnected(e.ObjectOld, e.ObjectNew):
				enqueue(ctx, e.ObjectNew, q, notSynced)
			}
		},
	}, nil
}

// affectsUsers reports whether a change of a configuration requires a reconcile of all its users.
func affectsUsers(before, now client.Object) bool {
	return before.GetUID() != now.GetUID() || before.GetGeneration() != now.GetGeneration() ||
		!moormeta.FinalizerExists(before, FinalizerName) && moormeta.FinalizerExists(now, FinalizerName)
}

// reconnected reports whether the condition Connected of a configuration has become True after it was False.
func reconnected(before, now client.Object) bool {
	return connectedStatus(before) == metav1.ConditionFalse && connectedStatus(now) == metav1.ConditionTrue
}

func anyUser(User) bool { return true }

// notSynced reports whether the condition Synced of a user is not True. It is true for a user without the condition.
func notSynced(u User) bool {
	conditioned, ok := u.(resource.Conditioned)

	return !ok || conditioned.GetCondition(commonv1.TypeSynced).Status != metav1.ConditionTrue
}

// connectedStatus returns the status of the condition Connected of a configuration, or "" if there is no condition.
func connectedStatus(config client.Object) metav1.ConditionStatus {
	conditioned, ok := config.(resource.Conditioned)
	if !ok {
		return ""
	}

	return conditioned.GetCondition(commonv1.TypeConnected).Status
}

// requestsForUsers returns a request for each user of a configuration for which include returns true. If the list
// fails, it returns no requests, because the users are also retried and polled.
func requestsForUsers(
	ctx context.Context, c client.Client, configs configKinds, gvk schema.GroupVersionKind, config client.Object,
	include func(User) bool,
) []reconcile.Request {
	kind, err := c.GroupVersionKindFor(config)
	if err != nil {
		return nil
	}
	k := key{kind: kind.Kind, namespace: config.GetNamespace(), name: config.GetName()}
	var requests []reconcile.Request
	_ = eachUser(ctx, c, c.Scheme(), configs, gvk, k, func(u User) error {
		if include(u) {
			requests = append(requests, reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()},
			})
		}

		return nil
	})

	return requests
}

// eachUser calls do for each object of a kind that uses the configuration k. If do returns an error, eachUser stops and
// returns this error. The objects must not be changed.
func eachUser(
	ctx context.Context, r client.Reader, s *runtime.Scheme, configs configKinds, gvk schema.GroupVersionKind, k key,
	do func(User) error,
) error {
	list, err := newList(s, gvk)
	if err != nil {
		return err
	}
	if err := r.List(ctx, list, client.InNamespace(k.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return errors.Wrapf(err, "cannot list the users of kind %s", gvk.Kind)
	}

	return meta.EachListItem(list, func(o runtime.Object) error {
		u, ok := o.(User)
		if !ok {
			return nil
		}
		if used, _, err := configs.resolveReference(u); err != nil || used != k {
			return nil
		}

		return do(u)
	})
}

// newList returns an empty list of the kind.
func newList(s *runtime.Scheme, gvk schema.GroupVersionKind) (client.ObjectList, error) {
	made, err := s.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot list the users of kind %s", gvk.Kind)
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return nil, errors.Errorf("cannot list the users of kind %s: %T is not a list of objects", gvk.Kind, made)
	}

	return list, nil
}

package providerconfig

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A queue is the queue of a controller.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A tracker watches the users through the cache and updates the index. It enqueues the configurations whose users have
// changed.
type tracker struct {
	kinds  configKinds
	cache  cache.Cache
	scheme *runtime.Scheme
	index  *index

	// unserved reports whether a kind of users is known not to be served.
	unserved func(schema.GroupVersionKind) bool

	mu         sync.RWMutex
	kindSynced map[schema.GroupVersionKind]bool // whether the index has all users of the kind
	queues     map[string]queue                 // of the controllers that run, by kind of configuration
}

// newTracker returns a tracker without users.
func newTracker(
	kinds configKinds, c cache.Cache, s *runtime.Scheme, unserved func(schema.GroupVersionKind) bool,
) *tracker {
	return &tracker{
		kinds: kinds, cache: c, scheme: s, index: newIndex(), unserved: unserved,
		kindSynced: map[schema.GroupVersionKind]bool{}, queues: map[string]queue{},
	}
}

// watchUsers updates the index for one kind of users until ctx ends.
func (t *tracker) watchUsers(ctx context.Context, gvk schema.GroupVersionKind, of User) error {
	informer, err := t.cache.GetInformer(ctx, of)
	if err != nil {
		return errors.Wrapf(err, "cannot watch the users of kind %s", gvk.Kind)
	}
	defer t.stopTracking(gvk)
	registration, err := informer.AddEventHandler(t.handler(ctx, gvk.GroupKind()))
	if err != nil {
		return errors.Wrapf(err, "cannot watch the users of kind %s", gvk.Kind)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }() // fails only for the handler of another informer
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-ctx.Done():
		return nil
	}
	t.setSynced(gvk, true)
	<-ctx.Done()

	return nil
}

// stopTracking removes the users of a kind that is no longer watched.
func (t *tracker) stopTracking(gvk schema.GroupVersionKind) {
	t.setSynced(gvk, false)
	t.enqueue(t.index.clear(gvk.GroupKind()))
}

// setSynced records whether the index contains all users of a kind.
func (t *tracker) setSynced(gvk schema.GroupVersionKind, complete bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kindSynced[gvk] = complete
}

// handler returns the event handler of a kind of users.
func (t *tracker) handler(ctx context.Context, kind schema.GroupKind) toolscache.ResourceEventHandler {
	set := func(obj any) {
		u, ok := obj.(User)
		if !ok {
			return
		}
		k, _, err := t.kinds.resolveReference(u)
		t.enqueue(t.index.set(ctx, user{kind, u.GetNamespace(), u.GetName()}, k, err == nil))
	}

	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			name, err := toolscache.DeletionHandlingObjectToName(obj)
			if err == nil {
				t.enqueue(t.index.set(ctx, user{kind, name.Namespace, name.Name}, key{}, false))
			}
		},
	}
}

// enqueue adds configurations to the queues of their controllers.
func (t *tracker) enqueue(keys []key) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, k := range keys {
		if q := t.queues[k.kind]; q != nil {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: k.namespace, Name: k.name}})
		}
	}
}

// source returns a source that enqueues the configurations of a kind whose users change. It enqueues nothing at the
// start, because a controller then reconciles all its objects.
func (t *tracker) source(kind string) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.queues[kind] = q
		context.AfterFunc(ctx, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.queues[kind] == q {
				delete(t.queues, kind)
			}
		})

		return nil
	})
}

// synced reports whether the index contains all users of all served kinds.
func (t *tracker) synced() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for gvk, complete := range t.kindSynced {
		if !complete && !t.unserved(gvk) {
			return false
		}
	}

	return true
}

// confirmUnused reports whether the cache contains no user of a configuration. It does not use the index, which is
// updated after the cache. An object that was reconciled with the configuration is always in the cache.
func (t *tracker) confirmUnused(ctx context.Context, k key) (bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for gvk, complete := range t.kindSynced {
		if !complete {
			continue
		}
		found, err := t.hasUser(ctx, gvk, k)
		if err != nil || found {
			return false, err
		}
	}

	return true, nil
}

// errFound ends a search.
var errFound = errors.New("found")

// hasUser reports whether the cache contains an object of the kind that uses the configuration.
func (t *tracker) hasUser(ctx context.Context, gvk schema.GroupVersionKind, k key) (bool, error) {
	err := eachUser(ctx, t.cache, t.scheme, t.kinds, gvk, k, func(User) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}

	return false, err
}

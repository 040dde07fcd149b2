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

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A tracker follows the users in the cache, keeps the index, and tells the
// controllers of the configurations whose users have changed.
type tracker struct {
	family family
	cache  cache.Cache
	scheme *runtime.Scheme
	index  *index

	// gone reports whether a kind of users is known not to be served.
	gone func(schema.GroupVersionKind) bool

	mu     sync.RWMutex
	users  map[schema.GroupVersionKind]bool // whether the index has all of the kind
	queues map[string]queue                 // of the controllers that run, by kind of configuration
}

func newTracker(f family, c cache.Cache, s *runtime.Scheme, gone func(schema.GroupVersionKind) bool) *tracker {
	return &tracker{
		family: f, cache: c, scheme: s, index: newIndex(), gone: gone,
		users: map[schema.GroupVersionKind]bool{}, queues: map[string]queue{},
	}
}

// follow keeps the index for one kind of users, until the context ends.
func (t *tracker) follow(ctx context.Context, gvk schema.GroupVersionKind, of User) error {
	informer, err := t.cache.GetInformer(ctx, of)
	if err != nil {
		return errors.Wrapf(err, "cannot watch the users of kind %s", gvk.Kind)
	}
	defer t.leave(gvk)
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
	t.complete(gvk, true)
	<-ctx.Done()

	return nil
}

// leave forgets the users of a kind that is not followed any more.
func (t *tracker) leave(gvk schema.GroupVersionKind) {
	t.complete(gvk, false)
	t.enqueue(t.index.clear(gvk.GroupKind()))
}

func (t *tracker) complete(gvk schema.GroupVersionKind, complete bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[gvk] = complete
}

func (t *tracker) handler(ctx context.Context, kind schema.GroupKind) toolscache.ResourceEventHandler {
	set := func(obj any) {
		u, ok := obj.(User)
		if !ok {
			return
		}
		k, _, err := t.family.refers(u)
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

func (t *tracker) enqueue(keys []key) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, k := range keys {
		if q := t.queues[k.kind]; q != nil {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: k.namespace, Name: k.name}})
		}
	}
}

// source hands the configurations of a kind whose users have changed to a controller.
// It begins with none: a controller looks at all when it starts.
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

// settled reports whether the index has all users there are.
func (t *tracker) settled() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for gvk, complete := range t.users {
		if !complete && !t.gone(gvk) {
			return false
		}
	}

	return true
}

// unused looks through the cache itself for a user of a configuration. The index
// follows the cache, a little behind; what a pass over an object has seen before it
// used the configuration is in the cache for certain.
func (t *tracker) unused(ctx context.Context, k key) (bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for gvk, complete := range t.users {
		if !complete {
			continue
		}
		found, err := t.search(ctx, gvk, k)
		if err != nil || found {
			return false, err
		}
	}

	return true, nil
}

var errFound = errors.New("found")

func (t *tracker) search(ctx context.Context, gvk schema.GroupVersionKind, k key) (bool, error) {
	err := eachUser(ctx, t.cache, t.scheme, t.family, gvk, k, func(User) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}

	return false, err
}

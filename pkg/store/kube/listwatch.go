package kube

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newInformer is for cache.Options: it makes the informers of a cache follow the
// stores. The ListerWatcher it is given leads to an API server, and is not used.
func (c *Client) newInformer(
	_ toolscache.ListerWatcher, as runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(&listerWatcher{client: c, as: as}, as, resync, indexers)
}

// A listerWatcher is what one reflector asks. A reflector either gets all from a
// watch, with initial events, or lists and then watches from there on: as a store
// has no history, the list is the beginning of the watch then.
type listerWatcher struct {
	client *Client
	as     runtime.Object

	mu   sync.Mutex
	rest *remainder // of the last list
}

// A remainder is a watch whose beginning was told as a list.
type remainder struct {
	*watcher

	version string
}

var _ toolscache.ListerWatcherWithContext = &listerWatcher{}

// List is ListWithContext.
func (l *listerWatcher) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext.
func (l *listerWatcher) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

func (l *listerWatcher) start(ctx context.Context) (*watcher, error) {
	k, err := l.client.of(l.as)
	if err != nil {
		return nil, err
	}
	s, err := k.selection(&client.ListOptions{})
	if err != nil {
		return nil, err
	}

	return l.client.follow(ctx, k, s, func(image map[string]any) (runtime.Object, error) {
		return k.formed(l.as,
			image)
	}, true)
}

// ListWithContext starts a watch, and returns what it tells until that is all.
func (l *listerWatcher) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	w, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]runtime.Object{} // what changes meanwhile is told again
	for e := range w.ResultChan() {
		o, ok := e.Object.(client.Object)
		if !ok { // an error
			break
		}
		key := keyFor(o.GetNamespace(), o.GetName())
		switch e.Type {
		case watch.Bookmark:
			l.keep(&remainder{w, o.GetResourceVersion()})

			return listOf(found, o.GetResourceVersion()), nil
		case watch.Deleted:
			delete(found, key)
		default:
			found[key] = o
		}
	}
	w.Stop()

	return nil, expired("the watch ended before everything was listed")
}

func listOf(found map[string]runtime.Object, version string) *metav1.List {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, o := range found {
		list.Items = append(list.Items, runtime.RawExtension{Object: o})
	}

	return list
}

// keep keeps the rest of a watch, and ends the one that nobody asked for.
func (l *listerWatcher) keep(r *remainder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rest != nil {
		l.rest.Stop()
	}
	l.rest = r
}

// WatchWithContext tells all, if that is asked for, and otherwise what comes after
// the last list.
func (l *listerWatcher) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		return l.start(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rest
	if r == nil || r.version != o.ResourceVersion {
		return nil, expired("a store keeps no history: list again")
	}
	l.rest = nil

	return r.watcher, nil
}

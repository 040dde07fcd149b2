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

// newInformer is a value for NewInformer of cache.Options. Its informers watch the stores. It does not use the given
// ListerWatcher, which reads from an API server.
func (c *Client) newInformer(
	_ toolscache.ListerWatcher, as runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(&listerWatcher{client: c, as: as}, as, resync, indexers)
}

// A listerWatcher serves one reflector. A reflector either watches with initial events, or lists and then watches from
// the version of the list. A store has no history, so a list is the beginning of a watch that the next call of Watch
// continues.
type listerWatcher struct {
	client *Client
	as     runtime.Object

	mu   sync.Mutex
	rest *listedWatch // of the last list
}

// A listedWatch is a watch whose initial events were returned as a list.
type listedWatch struct {
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

	as := func(image map[string]any) (runtime.Object, error) { return k.formed(l.as, image) }

	return l.client.follow(ctx, k, s, as, true)
}

// ListWithContext starts a watch, and returns its initial events as a list.
func (l *listerWatcher) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	w, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]runtime.Object{} // by key: a later event replaces an earlier one
	for e := range w.ResultChan() {
		o, ok := e.Object.(client.Object)
		if !ok { // an error
			break
		}
		key := keyFor(o.GetNamespace(), o.GetName())
		switch e.Type {
		case watch.Bookmark:
			l.keep(&listedWatch{w, o.GetResourceVersion()})

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

// keep stores a watch whose beginning was returned as a list, for the next call of Watch. It stops the stored watch of
// an earlier list.
func (l *listerWatcher) keep(r *listedWatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rest != nil {
		l.rest.Stop()
	}
	l.rest = r
}

// WatchWithContext continues the watch of the last list. If initial events are requested, it starts a new watch
// instead.
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

package reference

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// referentPriority is the priority of owners that are enqueued because of a referent. It is below the priority of
// changes by users, and above the priority of polls, because an owner that waits for its referent is usually being
// created.
const referentPriority = -10

// Source returns a source for the tracker's controller. After the controller has started the source, the source watches
// each kind that an owner reads, with the informers of the cache. When an object changes, the source enqueues the
// owners that have read this object.
//
// If the cache removes an informer, because the kind is not served for a while, the source uses the new informer within
// ten seconds. The source stops with the controller. It does not remove informers, because others may use the
// informers. A controller that is started again needs a new source of the same tracker.
func (t *Tracker) Source(c cache.Cache) source.TypedSource[reconcile.Request] {
	return &trackerSource{tracker: t, cache: c}
}

// A trackerSource is a source that has not been started.
type trackerSource struct {
	tracker *Tracker
	cache   cache.Cache
}

// String returns the name of the source in errors of the controller.
func (f *trackerSource) String() string { return "referents" }

// Start starts the watches. It does not block.
func (f *trackerSource) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	if f.cache == nil {
		return errors.New("cannot watch referents without a cache")
	}

	w := &activeSource{watchers: map[schema.GroupVersionKind]*kindWatcher{}}
	w.startWatch = func(gvk schema.GroupVersionKind, example client.Object) {
		follow := &kindWatcher{
			source: w, cache: f.cache, example: example, checkNow: make(chan struct{}, 1),
			handler: &eventHandler{tracker: f.tracker, queue: q, gvk: gvk},
		}
		w.watchers[gvk] = follow
		go follow.run(ctx)
	}
	f.tracker.addWatch(w)
	context.AfterFunc(ctx, func() { f.tracker.removeWatch(w) })

	return nil
}

// An activeSource is a source that has been started.
type activeSource struct {
	watchers   map[schema.GroupVersionKind]*kindWatcher // the started ones
	startWatch func(gvk schema.GroupVersionKind, example client.Object)
}

// addWatch adds a source and starts its watches.
func (t *Tracker) addWatch(w *activeSource) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.sources[w] = struct{}{}
	for gvk := range t.kinds {
		t.watchKind(gvk)
	}
}

// removeWatch removes a source.
func (t *Tracker) removeWatch(w *activeSource) {
	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.sources, w)
}

// watchKind starts a watch of a kind that an owner reads. It does so in each source that does not watch the kind yet.
func (t *Tracker) watchKind(gvk schema.GroupVersionKind) {
	k := t.kinds[gvk]
	if k == nil {
		return
	}
	for w := range t.sources {
		if f := w.watchers[gvk]; f != nil {
			f.triggerCheck()
		} else {
			w.startWatch(gvk, k.example)
		}
	}
}

// An eventHandler enqueues the owners that are affected by events about a kind.
type eventHandler struct {
	tracker *Tracker
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	gvk     schema.GroupVersionKind
}

var _ toolscache.ResourceEventHandler = &eventHandler{}

// OnAdd enqueues the owners that are affected by a new object. The object may also have existed before the watch.
func (e *eventHandler) OnAdd(obj any, isInInitialList bool) {
	o, ok := obj.(client.Object)
	if !ok {
		return
	}

	priority := referentPriority
	if isInInitialList {
		priority = handler.LowPriority
	}
	e.enqueue(change{gvk: e.gvk, new: o}, priority)
}

// OnUpdate enqueues the owners that are affected by a change of an object. It ignores a resync.
func (e *eventHandler) OnUpdate(oldObj, newObj any) {
	before, ok := oldObj.(client.Object)
	if !ok {
		return
	}
	after, ok := newObj.(client.Object)
	if !ok {
		return
	}
	if v := after.GetResourceVersion(); v != "" && v == before.GetResourceVersion() {
		return // A resync.
	}

	e.enqueue(change{gvk: e.gvk, old: before, new: after}, referentPriority)
}

// OnDelete enqueues the owners that are affected by the deletion of an object. It does so even if the watch has missed
// the deletion.
func (e *eventHandler) OnDelete(obj any) {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	if o, ok := obj.(client.Object); ok {
		e.enqueue(change{gvk: e.gvk, old: o}, referentPriority)
	}
}

// enqueue enqueues the owners that are affected by a change.
func (e *eventHandler) enqueue(c change, priority int) {
	for owner := range e.tracker.affectedOwners(c) {
		addWithPriority(e.queue, reconcile.Request{NamespacedName: owner}, priority)
	}
}

// addWithPriority adds a request. It sets the priority if the queue supports priorities.
func addWithPriority(q workqueue.TypedRateLimitingInterface[reconcile.Request], r reconcile.Request, priority int) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, r)

		return
	}

	q.Add(r)
}

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

// wakePriority is behind what users do and before polls: an owner that waits for
// its referent is usually one that is being created.
const wakePriority = -10

// Source returns a source for the tracker's controller. Once the controller has
// started it, it watches each kind that an owner has read or will read, with the
// informer that the cache has for it, and enqueues the owners that are concerned.
// If the cache drops that informer, because the kind is not served for a while, the
// one that the cache has then takes its place within ten seconds.
// It stops with the controller, and takes nothing with it that others use. A
// controller that is started again needs a new source of the same tracker.
func (t *Tracker) Source(c cache.Cache) source.TypedSource[reconcile.Request] {
	return &feed{tracker: t, cache: c}
}

// A feed is a source that is not started.
type feed struct {
	tracker *Tracker
	cache   cache.Cache
}

// String names the source in the controller's errors.
func (f *feed) String() string { return "referents" }

// Start begins to watch. It does not block.
func (f *feed) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	if f.cache == nil {
		return errors.New("cannot watch referents without a cache")
	}

	w := &watch{kinds: map[schema.GroupVersionKind]*follower{}}
	w.begin = func(gvk schema.GroupVersionKind, example client.Object) {
		follow := &follower{
			watch: w, cache: f.cache, example: example, look: make(chan struct{}, 1),
			events: &events{tracker: f.tracker, queue: q, gvk: gvk},
		}
		w.kinds[gvk] = follow
		go follow.run(ctx)
	}
	f.tracker.attach(w)
	context.AfterFunc(ctx, func() { f.tracker.detach(w) })

	return nil
}

// A watch is a source that was started.
type watch struct {
	kinds map[schema.GroupVersionKind]*follower // that were begun
	begin func(gvk schema.GroupVersionKind, example client.Object)
}

func (t *Tracker) attach(w *watch) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.watches[w] = struct{}{}
	for gvk := range t.kinds {
		t.watchKind(gvk)
	}
}

func (t *Tracker) detach(w *watch) {
	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.watches, w)
}

// watchKind begins to watch a kind that somebody reads, wherever it is not
// watched yet, or not any more.
func (t *Tracker) watchKind(gvk schema.GroupVersionKind) {
	k := t.kinds[gvk]
	if k == nil {
		return
	}
	for w := range t.watches {
		if f := w.kinds[gvk]; f != nil {
			f.hurry()
		} else {
			w.begin(gvk, k.example)
		}
	}
}

// events enqueues the owners that events about a kind concern.
type events struct {
	tracker *Tracker
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	gvk     schema.GroupVersionKind
}

var _ toolscache.ResourceEventHandler = &events{}

// OnAdd is about an object that was created, or was there before the watch.
func (e *events) OnAdd(obj any, isInInitialList bool) {
	o, ok := obj.(client.Object)
	if !ok {
		return
	}

	priority := wakePriority
	if isInInitialList {
		priority = handler.LowPriority
	}
	e.enqueue(change{gvk: e.gvk, new: o}, priority)
}

// OnUpdate is about an object that may have changed.
func (e *events) OnUpdate(oldObj, newObj any) {
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

	e.enqueue(change{gvk: e.gvk, old: before, new: after}, wakePriority)
}

// OnDelete is about an object that is gone, be it that its deletion was missed.
func (e *events) OnDelete(obj any) {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	if o, ok := obj.(client.Object); ok {
		e.enqueue(change{gvk: e.gvk, old: o}, wakePriority)
	}
}

func (e *events) enqueue(c change, priority int) {
	for owner := range e.tracker.concerned(c) {
		add(e.queue, reconcile.Request{NamespacedName: owner}, priority)
	}
}

// add minds the priority if the queue does.
func add(q workqueue.TypedRateLimitingInterface[reconcile.Request], r reconcile.Request, priority int) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, r)

		return
	}

	q.Add(r)
}

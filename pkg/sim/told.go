package sim

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A subscription is that of a process to what changes in a harbour.
type subscription struct {
	process *process
	to      managed.ExternalNotifications
}

// A lookout tells a process what changes in the harbour.
type lookout struct{ process *process }

// Subscribe begins to tell.
func (l lookout) Subscribe(ctx context.Context, mg resource.Managed, to managed.ExternalNotifications) (stop func(), err error) {
	h := l.process.world.harbour
	s := &subscription{l.process, to}
	err = l.process.world.step(ctx, l.process, operation{name: "Subscribe", external: true, mg: mg}, func(context.Context) error {
		h.subscribed = append(h.subscribed, s)

		return nil
	})
	if err != nil { // nobody will end what it does not know of
		return nil, err
	}

	return func() {}, nil
}

// tells everybody who has subscribed, and lives, that a place has changed.
func (h *harbour) tells(id string) {
	h.subscribed = slices.DeleteFunc(h.subscribed, func(s *subscription) bool { return s.process.dead })
	for _, s := range slices.Clone(h.subscribed) {
		s.to.Changed(id)
	}
}

// A bell wakes the objects of a process.
type bell struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	process *process
}

// AddWithOpts puts objects into the queue of the process.
func (b bell) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	for _, item := range items {
		b.process.queue.add(b.process.world.now(), item.NamespacedName, o.After, priority)
	}
}

// How long polls wait for each other where changes are told.
const rarely = 10 * pollInterval

// News: what others change is told, so that polls are rare.
var news = []scenario{{
	name: "told", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, live: hear,
	config: func(w *World) { w.config.told = true },
}}

func hear(w *World) {
	w.users.create(newBerth("first"))
	w.settle()
	w.quiet()
	w.users.drift()
	for _, p := range w.harbour.places {
		w.harbour.tells(p.ID)
	}
	if seen := w.run(w.now().Add(time.Minute), w.settled); !seen && w.fired == 0 {
		w.violate("L1", "what was told to have changed is not looked at")
	}
	w.run(w.now().Add(rarely))
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

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

// A subscription is the subscription of a process to the changes in an external system.
type subscription struct {
	process *process
	to      managed.ExternalNotifications
}

// A watcher subscribes a process to the changes in the external system.
type watcher struct{ process *process }

// Subscribe starts a subscription.
func (l watcher) Subscribe(ctx context.Context, mg resource.Managed, to managed.ExternalNotifications) (stop func(),
	err error) {
	h := l.process.world.system
	s := &subscription{l.process, to}
	err = l.process.world.step(ctx, l.process, Operation{Name: "Subscribe", External: true, mg: mg},
		func(context.Context) error {
			h.subscribed = append(h.subscribed, s)

			return nil
		})
	if err != nil { // without a stop function the caller cannot end the subscription
		return nil, err
	}

	return func() {}, nil
}

// A waker enqueues objects of a process.
type waker struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	process *process
}

// AddWithOpts adds objects to the queue of the process.
func (b waker) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	for _, item := range items {
		b.process.queue.add(b.process.world.now(), item.NamespacedName, o.After, priority)
	}
}

// notificationScenarios has the scenario in which the external system notifies of changes, and polls are rare.
var notificationScenarios = []scenario{{
	name: "notified", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"}, run: notified,
	config: func(w *World) { w.config.notifies = true },
}}

// notifiedPollInterval is the poll interval of a reconciler that is notified of changes.
const notifiedPollInterval = 10 * pollInterval

// notified runs the scenario of notificationScenarios.
func notified(w *World) {
	w.users.create(newBucket("first"))
	w.settle()
	w.quiet()
	w.users.drift()
	for _, p := range w.system.resources {
		w.system.notify(p.ID)
	}
	if seen := w.run(w.now().Add(time.Minute), w.settled); !seen && w.fired == 0 {
		w.violate("L1", "an object is not reconciled after a notification of a change")
	}
	w.run(w.now().Add(notifiedPollInterval))
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

// notify sends the change of a resource to every subscribed process that is alive.
func (h *extSystem) notify(id string) {
	h.subscribed = slices.DeleteFunc(h.subscribed, func(s *subscription) bool { return s.process.dead })
	for _, s := range slices.Clone(h.subscribed) {
		s.to.Changed(id)
	}
}

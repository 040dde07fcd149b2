package syncer

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A Core is the reconciler and the host watch of a syncer without a controller.
type Core struct {
	*reconciler

	watch *hostWatch
}

// NewCore returns what RegisterSyncerWithOptions creates, with a given clock.
func NewCore(reg *synccontext.RegisterContext, s Syncer, o Options, c clock.PassiveClock) (*Core, error) {
	r, err := newReconciler(reg, s, o)
	if err != nil {
		return nil, err
	}
	r.tracker = newTracker(c)
	return &Core{reconciler: r, watch: newHostWatch(r)}, nil
}

// HandleHostEvent delivers an event of the host's cache.
func (c *Core) HandleHostEvent(
	obj client.Object, gone bool, q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	c.watch.handleEvent(obj, gone, q)
}

// HandleVirtualEvent delivers an event of the virtual cache.
func (c *Core) HandleVirtualEvent(obj client.Object, gone bool) {
	c.tracker.observe(virtual, obj, gone)
}

// StartRetries starts to retry failed events.
func (c *Core) StartRetries(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return c.watch.start(ctx, q)
}

// FailedEvents returns the number of events to retry.
func (c *Core) FailedEvents() int {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	return len(c.watch.failed)
}

// TrackedEntries returns the number of entries in the tracker.
func (c *Core) TrackedEntries() int {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	return len(c.tracker.writes) + len(c.tracker.hostNamesOf) + len(c.tracker.waiters)
}

// CheckServed calls checkServed, which a Runner does before it starts the caches.
func CheckServed(reg *synccontext.RegisterContext, item Base) error { return checkServed(reg, item) }

// AddItem calls addItem, which a Runner does after the caches have synced.
func AddItem(reg *synccontext.RegisterContext, item Base) error { return addItem(reg, item) }

// FakeReconciler returns the reconciler that RegisterFakeSyncer creates.
func FakeReconciler(reg *synccontext.RegisterContext, s FakeSyncer) reconcile.Func {
	return fakeReconciler(reg, s)
}

// Capabilities reports which optional interfaces As finds.
func Capabilities(s Syncer) map[string]bool {
	return map[string]bool{
		"UpSyncer": has[UpSyncer](
			s), "Starter": has[Starter](s), "Initializer": has[Initializer](s), "IndicesRegisterer": has[IndicesRegisterer](s),
		"ControllerModifier": has[ControllerModifier](
			s), "ControllerStarter": has[ControllerStarter](s), "OptionsProvider": has[OptionsProvider](s),
	}
}

func has[T any](s Syncer) bool {
	_, ok := As[T](s)
	return ok
}

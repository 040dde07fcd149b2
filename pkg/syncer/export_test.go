package syncer

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A Core is what a controller runs, without the controller.
type Core struct {
	*reconciler

	watch *hostWatch
}

// NewCore is what RegisterSyncerWithOptions makes.
func NewCore(reg *synccontext.RegisterContext, s Syncer, o Options, c clock.PassiveClock) (*Core, error) {
	r, err := newReconciler(reg, s, o)
	if err != nil {
		return nil, err
	}
	r.mem = newMemory(c)
	return &Core{reconciler: r, watch: newHostWatch(r)}, nil
}

// HostSeen is an event of the host's cache.
func (c *Core) HostSeen(obj client.Object, gone bool, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	c.watch.seen(obj, gone, q)
}

// VirtualSeen is an event of the virtual cache.
func (c *Core) VirtualSeen(obj client.Object, gone bool) { c.mem.observed(virtual, obj, gone) }

// StartWatch begins to try kept events again.
func (c *Core) StartWatch(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return c.watch.start(ctx, q)
}

// Kept returns how many events are tried again.
func (c *Core) Kept() int {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	return len(c.watch.kept)
}

// Remembers returns how much the memory holds.
func (c *Core) Remembers() int {
	c.mem.mu.Lock()
	defer c.mem.mu.Unlock()
	return len(c.mem.writes) + len(c.mem.hosts) + len(c.mem.waiting)
}

// Known is what a Runner asks before it fills the caches.
func Known(reg *synccontext.RegisterContext, item Base) error { return known(reg, item) }

// Add is what a Runner does with an item when the caches are filled.
func Add(reg *synccontext.RegisterContext, item Base) error { return add(reg, item) }

// FakeReconciler is what RegisterFakeSyncer makes.
func FakeReconciler(reg *synccontext.RegisterContext, s FakeSyncer) reconcile.Func {
	return fakeReconciler(reg, s)
}

// Capabilities tells which optional interfaces are found.
func Capabilities(s Syncer) map[string]bool {
	return map[string]bool{
		"UpSyncer": has[UpSyncer](s), "Starter": has[Starter](s), "Initializer": has[Initializer](s), "IndicesRegisterer": has[IndicesRegisterer](s),
		"ControllerModifier": has[ControllerModifier](s), "ControllerStarter": has[ControllerStarter](s), "OptionsProvider": has[OptionsProvider](s),
	}
}

func has[T any](s Syncer) bool {
	_, ok := As[T](s)
	return ok
}

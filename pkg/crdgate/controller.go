package crdgate

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// RunController runs a controller that no manager knows, until the context ends and
// its workers have finished, or it cannot start. It may be run again under the same
// name. Options that are not set are as the manager says; validation of the name
// is off, and rate limiter and queue must not be those of an earlier run: they are
// made by the caller for each.
//
// Sources is called once, with the manager's cache. What sources register there is
// taken out of the informers again, so that those of other kinds, which stay, do not
// hold the queues of controllers that are gone. The informers of a kind that has
// gone are removed by the Gate, because others may use them too.
func RunController(ctx context.Context, m manager.Manager, name string, o controller.Options, sources func(cache.Cache) []source.Source) error {
	o.DefaultFromConfig(m.GetControllerOptions())
	o.SkipNameValidation = new(true)
	c, err := controller.NewUnmanaged(name, o)
	if err != nil {
		return errors.Wrapf(err, "cannot make the controller %s", name)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	leased := &leasedCache{Cache: m.GetCache()}
	defer leased.end()
	for _, s := range sources(leased) {
		if err := c.Watch(s); err != nil {
			return errors.Wrapf(err, "cannot watch for the controller %s", name)
		}
	}
	if err := c.Start(ctx); err != nil && ctx.Err() == nil {
		return errors.Wrapf(err, "cannot run the controller %s", name)
	}

	return nil
}

// A leasedCache is a cache whose handlers of events leave when the lease ends.
type leasedCache struct {
	cache.Cache

	mu     sync.Mutex
	ended  bool
	leaves []func() error
}

// GetInformer returns the informer of the cache, on lease.
func (c *leasedCache) GetInformer(ctx context.Context, obj client.Object, o ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, o...)
	if err != nil {
		return nil, err
	}

	return &leasedInformer{Informer: informer, lease: c}, nil
}

// GetInformerForKind returns the informer of the cache, on lease.
func (c *leasedCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, o ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, gvk, o...)
	if err != nil {
		return nil, err
	}

	return &leasedInformer{Informer: informer, lease: c}, nil
}

// end takes all handlers out, and lets no more in.
func (c *leasedCache) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, leave := range c.leaves {
		_ = leave() // fails only for a handler of another informer
	}
	c.leaves = nil
}

type leasedInformer struct {
	cache.Informer

	lease *leasedCache
}

func (i *leasedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

func (i *leasedInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, d time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &d})
}

// AddEventHandlerWithOptions is where a source comes by, which may be late.
func (i *leasedInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.lease.mu.Lock()
	defer i.lease.mu.Unlock()
	if i.lease.ended {
		return nil, errors.New("cannot watch for a controller that has ended")
	}
	registration, err := i.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		i.lease.leaves = append(i.lease.leaves, func() error { return i.Informer.RemoveEventHandler(registration) })
	}

	return registration, err
}

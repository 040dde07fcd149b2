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

// RunController runs a controller without adding it to a manager. It returns when the context has ended and the workers
// have finished. If the controller cannot start, it returns an error. RunController does not validate that the name is
// unique, so a controller may run again under the same name. The manager provides the defaults of the controller
// options. The rate limiter and the queue must be new for each run.
func RunController(
	ctx context.Context, m manager.Manager, name string, o controller.Options,
	sources func(cache.Cache) []source.Source,
) error {
	o.DefaultFromConfig(m.GetControllerOptions())
	o.SkipNameValidation = new(true)
	c, err := controller.NewUnmanaged(name, o)
	if err != nil {
		return errors.Wrapf(err, "cannot make the controller %s", name)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	leased := &scopedCache{Cache: m.GetCache()}
	defer leased.release()
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

// A scopedCache is a cache whose event handlers are removed when a controller ends.
type scopedCache struct {
	cache.Cache

	mu             sync.Mutex
	released       bool
	removeHandlers []func() error
}

// GetInformer returns an informer of the cache whose event handlers are removed when the controller ends.
func (c *scopedCache) GetInformer(
	ctx context.Context, obj client.Object, o ...cache.InformerGetOption,
) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, o...)
	if err != nil {
		return nil, err
	}

	return &scopedInformer{Informer: informer, scope: c}, nil
}

// GetInformerForKind returns an informer of the cache whose event handlers are removed when the controller ends.
func (c *scopedCache) GetInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind, o ...cache.InformerGetOption,
) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, gvk, o...)
	if err != nil {
		return nil, err
	}

	return &scopedInformer{Informer: informer, scope: c}, nil
}

// release removes all event handlers. Later attempts to add handlers fail.
func (c *scopedCache) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	for _, leave := range c.removeHandlers {
		_ = leave() // fails only for a handler of another informer
	}
	c.removeHandlers = nil
}

// A scopedInformer is an informer of a scopedCache.
type scopedInformer struct {
	cache.Informer

	scope *scopedCache
}

// AddEventHandler adds a handler.
func (i *scopedInformer) AddEventHandler(
	h toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler with a resync period.
func (i *scopedInformer) AddEventHandlerWithResyncPeriod(
	h toolscache.ResourceEventHandler, d time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &d})
}

// AddEventHandlerWithOptions adds a handler. After the controller has ended it returns an error, because sources may
// add handlers late.
func (i *scopedInformer) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, o toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.scope.mu.Lock()
	defer i.scope.mu.Unlock()
	if i.scope.released {
		return nil, errors.New("cannot watch for a controller that has ended")
	}
	registration, err := i.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		i.scope.removeHandlers = append(i.scope.removeHandlers, func() error {
			return i.Informer.RemoveEventHandler(registration)
		})
	}

	return registration, err
}

package syncer_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A stepLog records steps in order.
type stepLog struct {
	mu    sync.Mutex
	steps []string
}

func (s *stepLog) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

func (s *stepLog) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.steps)
}

// A fakeCache is a cache whose events and synchronization the test controls.
type fakeCache struct {
	ctrlcache.Cache
	ctrlcache.Informer

	err  error                          // of a handler that is added
	sync func(ctx context.Context) bool // nil: at once

	mu       sync.Mutex
	handlers map[*registration]toolscache.ResourceEventHandler
}

type registration struct {
	toolscache.ResourceEventHandlerRegistration

	number int
}

func (*registration) HasSynced() bool { return true }

func (i *fakeCache) GetInformer(
	context.Context, client.Object, ...ctrlcache.InformerGetOption,
) (ctrlcache.Informer, error) {
	return i, nil
}

func (i *fakeCache) WaitForCacheSync(ctx context.Context) bool {
	return i.sync == nil || i.sync(ctx)
}

func (i *fakeCache) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return nil, i.err
	}
	if i.handlers == nil {
		i.handlers = map[*registration]toolscache.ResourceEventHandler{}
	}
	r := &registration{number: len(i.handlers)}
	i.handlers[r] = h
	return r, nil
}

func (i *fakeCache) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.handlers, r.(*registration))
	return nil
}

// deliver delivers an added object to every handler and returns the number of handlers.
func (i *fakeCache) deliver(obj client.Object) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.handlers {
		h.OnAdd(obj, false)
	}
	return len(i.handlers)
}

// A fakeManager is the manager of an in-memory cluster. It records the added controllers
// and runs them while it runs.
type fakeManager struct {
	manager.Manager

	side           string
	steps          *stepLog
	cache          *fakeCache
	mapper         meta.RESTMapper
	failController string     // name of a controller that cannot be added
	end            chan error // it ends by itself with that

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // ends the controllers
	pending  []manager.Runnable
	limiters []workqueue.TypedRateLimiter[reconcile.Request]
	runs     sync.WaitGroup
}

func newFakeManager(side string, m manager.Manager, steps *stepLog) *fakeManager {
	serves := meta.NewDefaultRESTMapper(nil)
	serves.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return &fakeManager{
		Manager: m, side: side, steps: steps, cache: &fakeCache{}, mapper: serves, end: make(chan error, 1),
	}
}

func (p *fakeManager) GetCache() ctrlcache.Cache      { return p.cache }
func (p *fakeManager) GetRESTMapper() meta.RESTMapper { return p.mapper }

func (p *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true)} // the test's process knows all names of controllers
}

func (p *fakeManager) Add(r manager.Runnable) error {
	c := reflect.ValueOf(r).Elem() // a controller says no more of itself
	name, workers := c.FieldByName("Name").String(), c.FieldByName("MaxConcurrentReconciles").Int()
	p.steps.add("%s runs %s with %d workers", p.side, name, workers)
	if name == p.failController {
		return errBoom
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiters = append(
		p.limiters, c.FieldByName("RateLimiter").Interface().(workqueue.TypedRateLimiter[reconcile.Request]))
	p.pending = append(p.pending, r)
	p.startPending()
	return nil
}

// startPending starts the pending controllers if the manager runs.
func (p *fakeManager) startPending() {
	if p.ctx == nil {
		return
	}
	for _, r := range p.pending {
		p.runs.Go(func() { _ = r.Start(p.ctx) })
	}
	p.pending = nil
}

// running reports whether the manager runs.
func (p *fakeManager) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx != nil && p.ctx.Err() == nil
}

func (p *fakeManager) Start(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	p.mu.Lock()
	p.ctx = ctx
	p.startPending()
	p.mu.Unlock()
	defer p.runs.Wait()
	defer stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.end:
		return err
	}
}

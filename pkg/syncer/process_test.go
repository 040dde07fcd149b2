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

// journal is what happens, in its order.
type journal struct {
	mu   sync.Mutex
	told []string
}

func (s *journal) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *journal) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.told)
}

// informers is a cache whose events a test makes, and which is filled when its process runs and the test says so.
type informers struct {
	ctrlcache.Cache
	ctrlcache.Informer

	err   error                          // of a handler that is added
	fills func(ctx context.Context) bool // nil: at once

	mu       sync.Mutex
	handlers map[*registration]toolscache.ResourceEventHandler
}

type registration struct {
	toolscache.ResourceEventHandlerRegistration

	number int
}

func (*registration) HasSynced() bool { return true }

func (i *informers) GetInformer(context.Context, client.Object, ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	return i, nil
}

func (i *informers) WaitForCacheSync(ctx context.Context) bool {
	return i.fills == nil || i.fills(ctx)
}

func (i *informers) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
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

func (i *informers) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.handlers, r.(*registration))
	return nil
}

// shows tells every handler of an object that came, and returns how many there are.
func (i *informers) shows(obj client.Object) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.handlers {
		h.OnAdd(obj, false)
	}
	return len(i.handlers)
}

// process is a manager of a cluster in memory. It notes the controllers that are added to it, and runs them while it runs.
type process struct {
	manager.Manager

	side    string
	told    *journal
	cache   *informers
	mapper  meta.RESTMapper
	refuses string     // name of a controller that cannot be added
	ends    chan error // it ends by itself with that

	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // ends the controllers
	waiting  []manager.Runnable
	limiters []workqueue.TypedRateLimiter[reconcile.Request]
	runs     sync.WaitGroup
}

func newProcess(side string, m manager.Manager, told *journal) *process {
	serves := meta.NewDefaultRESTMapper(nil)
	serves.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return &process{Manager: m, side: side, told: told, cache: &informers{}, mapper: serves, ends: make(chan error, 1)}
}

func (p *process) GetCache() ctrlcache.Cache      { return p.cache }
func (p *process) GetRESTMapper() meta.RESTMapper { return p.mapper }

func (p *process) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true)} // the test's process knows all names of controllers
}

func (p *process) Add(r manager.Runnable) error {
	c := reflect.ValueOf(r).Elem() // a controller says no more of itself
	name, workers := c.FieldByName("Name").String(), c.FieldByName("MaxConcurrentReconciles").Int()
	p.told.note("%s runs %s with %d workers", p.side, name, workers)
	if name == p.refuses {
		return errBoom
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiters = append(p.limiters, c.FieldByName("RateLimiter").Interface().(workqueue.TypedRateLimiter[reconcile.Request]))
	p.waiting = append(p.waiting, r)
	p.begin()
	return nil
}

// begin runs what waits, if the process runs.
func (p *process) begin() {
	if p.ctx == nil {
		return
	}
	for _, r := range p.waiting {
		p.runs.Go(func() { _ = r.Start(p.ctx) })
	}
	p.waiting = nil
}

// running tells whether the process runs.
func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx != nil && p.ctx.Err() == nil
}

func (p *process) Start(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	p.mu.Lock()
	p.ctx = ctx
	p.begin()
	p.mu.Unlock()
	defer p.runs.Wait()
	defer stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.ends:
		return err
	}
}

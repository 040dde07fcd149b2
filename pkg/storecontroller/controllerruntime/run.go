package controllerruntime

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// Run runs the controller until stopCh is closed. It calls no handler before all informers have synced. It returns
// after all calls of handlers have ended. If the start fails, Run sends the error on errCh and returns. It sends no
// later errors.
func (r *Runtime[T]) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stopCh:
			cancel()
		case <-ctx.Done():
		}
	}()

	r.mu.Lock()
	custom := r.custom
	r.mu.Unlock()
	if custom == nil {
		sendError(errCh, ctx, errors.New("cannot run without a controller: call SetCustomController"))

		return
	}
	defer func() {
		_ = r.recoverPanic("Clean", func() error {
			custom.Clean()

			return nil
		})
	}()
	defer r.events.stop()
	if err := r.run(ctx, threadiness); err != nil && ctx.Err() == nil {
		sendError(errCh, ctx, err)
	}
}

// run starts the controller and its dependencies, and returns when all of them have ended.
func (r *Runtime[T]) run(ctx context.Context, threadiness int) error {
	if isNil(r.client) {
		return errors.New("cannot run without a client of the primaries")
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	primary := store.NewInformer[T](r.client, store.InformerOptions{Logger: r.logger})
	primary.AddHandler(func(n store.Notification[T]) { r.hint(n.Key, Operation(n.Op)) })
	sources, err := r.sources()
	if err != nil {
		return err
	}
	deps := []storecontroller.Dependency{storecontroller.External("EnqueueKey", &r.pusher)}
	for _, s := range sources {
		deps = append(deps, storecontroller.External("listener", s))
		if !s.tertiary {
			deps = append(deps, storecontroller.Evidence(s.ownersOf))
		}
	}
	c, err := storecontroller.New(nil, r.name, r.kind, primary, storecontroller.ReconcilerFunc[T](r.sync),
		r.options(threadiness), deps...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.controller = c
	r.mu.Unlock()
	for _, i := range c.Informers() {
		running.Go(func() { _ = i.Start(ctx) })
	}
	for _, s := range sources {
		if s.runnable != nil {
			running.Go(func() { _ = s.runnable.Start(ctx) })
		}
	}
	stop, err := r.startExternals(ctx)
	defer stop()
	if err != nil {
		return err
	}
	running.Go(func() { r.periodic(ctx, primary, sources) })

	return errors.Wrap(c.Start(ctx), "cannot run the controller")
}

// options returns the options of the controller, with the rate limits of the older library.
func (r *Runtime[T]) options(threadiness int) storecontroller.Options {
	return storecontroller.Options{
		TypedOptions: controller.TypedOptions[storecontroller.Request]{
			MaxConcurrentReconciles: max(threadiness, 1),
			SkipNameValidation:      new(true),
			Logger:                  logr.New(sink{r.logger}),
			// Both limits are the same as in the older library.
			RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[storecontroller.Request](5*time.Millisecond, 1000*time.Second),
				&workqueue.TypedBucketRateLimiter[storecontroller.Request]{Limiter: rate.NewLimiter(rate.Limit(50), 300)},
			),
		},
		Resync:    -1, // periodic enqueues all primaries and calls GarbageSecondaries
		Garbage:   storecontroller.GarbagePolicy{Disabled: true},
		AllEvents: true,
		Marks:     marks(),
		Logger:    r.logger,
		Recorder:  r.recorder(),
	}
}

// recorder returns the recorder of events, or nil without a client of Kubernetes.
func (r *Runtime[T]) recorder() event.Recorder {
	if r.kube == nil {
		return nil
	}

	return r.events.recorder(r.kube, r.name)
}

// sources returns the listeners of all dependencies as sources.
func (r *Runtime[T]) sources() (out []*listenerSource, err error) {
	b := binding{kind: r.kind, logger: r.logger}
	for _, d := range r.deps {
		for _, bind := range d.listeners {
			l, err := bind(b)
			if err != nil {
				return nil, err
			}
			notify := r.handleSecondary
			if l.tertiary {
				notify = r.handleTertiary
			}
			out = append(out, &listenerSource{listener: l, notify: notify, done: make(chan struct{})})
		}
	}

	return out, nil
}

// sync calls SyncHandler, which reads the primary itself and treats a missing primary as deleted. Therefore sync
// returns an error if the controller knows the primary and the store does not have it. Either the cache is stale or the
// store was lost, and the retry can distinguish the two.
func (r *Runtime[T]) sync(ctx context.Context, key string, _ T, found bool) (reconcile.Result, error) {
	if found {
		if _, err := r.client.Get(ctx, key); errors.Is(err, store.ErrNotFound) {
			return reconcile.Result{}, errors.Wrap(err, "cannot distinguish yet whether the primary was deleted or lost")
		}
	}
	r.logger.Debug("Reconciling a primary", "controller", r.name, "key", key, "operation", r.takeHint(key).String())

	return reconcile.Result{}, r.recoverPanic("SyncHandler", func() error { return r.custom.SyncHandler(key) })
}

// startExternals starts the external clients. The returned function stops the clients that were started.
func (r *Runtime[T]) startExternals(ctx context.Context) (stop func(), err error) {
	var started []IExternalClient
	stop = func() {
		for _, e := range started {
			_ = r.recoverPanic("Stop of an external client", func() error {
				e.Stop()

				return nil
			})
		}
	}
	for _, d := range r.deps {
		for _, e := range d.externals {
			err := r.recoverPanic("Start of an external client", func() error {
				return e.Start(ctx, func(key string) { r.EnqueueKey(key, OperationSecondary) })
			})
			if err != nil {
				return stop, errors.Wrap(err, "cannot start an external client")
			}
			started = append(started, e)
		}
	}

	return stop, nil
}

// periodic collects garbage after the initial sync, and at each resync collects garbage and enqueues all primaries.
func (r *Runtime[T]) periodic(ctx context.Context, primary *store.Informer[T], sources []*listenerSource) {
	if primary.WaitForSync(ctx) != nil {
		return
	}
	for _, s := range sources {
		select {
		case <-ctx.Done():
			return
		case <-s.done:
		}
	}
	r.collectGarbage()
	if r.resync <= 0 {
		return
	}
	for {
		timer := r.clock.NewTimer(r.resync + time.Duration(r.jitter()*float64(r.resync)/10))
		select {
		case <-ctx.Done():
			timer.Stop()

			return
		case <-timer.C():
		}
		r.collectGarbage()
		r.pusher.Push(primary.Keys()...)
	}
}

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

// Run runs the controller until stopCh is closed: nothing is handed to it before
// everything there is, is known, and what is being worked on is finished. What goes
// wrong at the start is sent on errCh, and Run returns; nothing is sent after that.
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
		report(errCh, ctx, errors.New("cannot run without a custom controller: call SetCustomController"))

		return
	}
	defer func() {
		_ = r.guard("Clean", func() error {
			custom.Clean()

			return nil
		})
	}()
	defer r.events.stop()
	if err := r.run(ctx, threadiness); err != nil && ctx.Err() == nil {
		report(errCh, ctx, err)
	}
}

// run runs everything, and returns when everything has ended.
func (r *Runtime[T]) run(ctx context.Context, threadiness int) error {
	if absent(r.client) {
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
			deps = append(deps, storecontroller.Evidence(s.ofOwner))
		}
	}
	c, err := storecontroller.New(nil, r.name, r.kind, primary, storecontroller.ReconcilerFunc[T](r.sync), r.options(threadiness), deps...)
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

func (r *Runtime[T]) options(threadiness int) storecontroller.Options {
	return storecontroller.Options{
		TypedOptions: controller.TypedOptions[storecontroller.Request]{
			MaxConcurrentReconciles: max(threadiness, 1),
			SkipNameValidation:      new(true),
			Logger:                  logr.New(sink{r.logger}),
			// Both limits are those of the controllers that this shape was made after.
			RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
				workqueue.NewTypedItemExponentialFailureRateLimiter[storecontroller.Request](5*time.Millisecond, 1000*time.Second),
				&workqueue.TypedBucketRateLimiter[storecontroller.Request]{Limiter: rate.NewLimiter(rate.Limit(50), 300)},
			),
		},
		Resync:    -1, // periodic does it, and asks the author for the garbage
		Garbage:   storecontroller.GarbagePolicy{Disabled: true},
		AllEvents: true,
		Marks:     marks(),
		Logger:    r.logger,
		Recorder:  r.recorder(),
	}
}

// recorder is of events about primaries, if there is anywhere to send them.
func (r *Runtime[T]) recorder() event.Recorder {
	if r.kube == nil {
		return nil
	}

	return r.events.recorder(r.kube, r.name)
}

func (r *Runtime[T]) sources() (out []*source, err error) {
	b := binding{kind: r.kind, logger: r.logger}
	for _, d := range r.deps {
		for _, bind := range d.listeners {
			l, err := bind(b)
			if err != nil {
				return nil, err
			}
			tell := r.tellSecondary
			if l.tertiary {
				tell = r.tellTertiary
			}
			out = append(out, &source{listener: l, tell: tell, done: make(chan struct{})})
		}
	}

	return out, nil
}

// sync is a pass. The author's code reads the primary by itself, and takes what it does
// not find for deleted: so it must be as the controller knows it. If it is not, the
// copy is behind, or the store was lost, which the next try knows.
func (r *Runtime[T]) sync(ctx context.Context, key string, _ T, found bool) (reconcile.Result, error) {
	if found {
		if _, err := r.client.Get(ctx, key); errors.Is(err, store.ErrNotFound) {
			return reconcile.Result{}, errors.Wrap(err, "cannot tell yet whether the primary was deleted or lost")
		}
	}
	r.logger.Debug("Looking at a primary", "controller", r.name, "key", key, "operation", r.takeHint(key).String())

	return reconcile.Result{}, r.guard("SyncHandler", func() error { return r.custom.SyncHandler(key) })
}

// startExternals starts the systems outside. What it returns stops those that were
// started.
func (r *Runtime[T]) startExternals(ctx context.Context) (stop func(), err error) {
	var started []IExternalClient
	stop = func() {
		for _, e := range started {
			_ = r.guard("Stop of an external client", func() error {
				e.Stop()

				return nil
			})
		}
	}
	for _, d := range r.deps {
		for _, e := range d.externals {
			err := r.guard("Start of an external client", func() error {
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

// periodic collects garbage when everything is known, and from time to time with a
// pass over all primaries.
func (r *Runtime[T]) periodic(ctx context.Context, primary *store.Informer[T], sources []*source) {
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
	r.garbage()
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
		r.garbage()
		r.pusher.Push(primary.Keys()...)
	}
}

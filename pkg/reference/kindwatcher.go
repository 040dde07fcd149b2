package reference

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// retryInterval is the interval at which a failed watch is retried. It is also the interval at which the watcher checks
// whether the informer of its kind has stopped.
const retryInterval = 10 * time.Second

// errNoReaders ends the attempts to watch a kind.
var errNoReaders = errors.New("no owner reads the kind any more")

// A kindWatcher passes the events of a kind to the controller of a source.
type kindWatcher struct {
	source   *activeSource
	cache    cache.Cache
	handler  *eventHandler
	checkNow chan struct{} // receives when the informer has to be checked now

	// Guarded by the tracker's lock.
	example  client.Object
	informer cache.Informer // nil if there is none
}

// run watches the kind until the context ends, or until its informer has stopped and no owner reads the kind. The cache
// stops the informer of a kind that is no longer served. If the kind is served again, run must get a new informer,
// because a waiting owner need not read before an event.
func (f *kindWatcher) run(ctx context.Context) {
	for {
		informer, registration, err := f.register(ctx)
		if err != nil {
			f.handler.tracker.log.Debug(
				"Stopped trying to watch the kind of a referent", "kind", f.handler.gvk.String(), "error", err)

			return
		}
		f.waitUntilStopped(ctx, informer)
		_ = informer.RemoveEventHandler(registration) // Fails only for a handler of another informer.
		if ctx.Err() != nil || !f.hasReaders() {
			return
		}
	}
}

// register adds the event handler to the informer of the kind. It retries until this succeeds.
func (f *kindWatcher) register(
	ctx context.Context,
) (cache.Informer, toolscache.ResourceEventHandlerRegistration, error) {
	log := f.handler.tracker.log.WithValues("kind", f.handler.gvk.String())

	var (
		informer     cache.Informer
		registration toolscache.ResourceEventHandlerRegistration
	)
	err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		var err error
		// The watch does not wait until the informer has synced, because the reads wait for it.
		informer, err = f.cache.GetInformer(ctx, f.exampleObject(), cache.BlockUntilSynced(false))
		if err == nil {
			registration, err = informer.AddEventHandler(f.handler)
		}
		if err == nil {
			f.setInformer(informer)

			return true, nil
		}
		log.Info("Cannot watch the kind of a referent yet", "error", err)
		if !f.hasReaders() {
			return false, errNoReaders
		}

		return false, nil
	})

	return informer, registration, err
}

// waitUntilStopped returns when the informer or the context has ended.
func (f *kindWatcher) waitUntilStopped(ctx context.Context, informer cache.Informer) {
	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()

	for !informer.IsStopped() {
		select {
		case <-ctx.Done():
			return
		case <-f.checkNow:
		case <-ticker.C:
		}
	}
}

// exampleObject returns an object of the form in which owners read the kind: typed, unstructured or metadata only.
func (f *kindWatcher) exampleObject() client.Object {
	f.handler.tracker.mu.Lock()
	defer f.handler.tracker.mu.Unlock()

	return f.example
}

// setInformer stores the informer.
func (f *kindWatcher) setInformer(informer cache.Informer) {
	f.handler.tracker.mu.Lock()
	defer f.handler.tracker.mu.Unlock()

	f.informer = informer
}

// hasReaders reports whether an owner reads the kind, in any form. If it returns false, the next read starts another
// kindWatcher.
func (f *kindWatcher) hasReaders() bool {
	t := f.handler.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	f.informer = nil
	if k := t.kinds[f.handler.gvk]; k != nil {
		f.example = k.example

		return true
	}
	delete(f.source.watchers, f.handler.gvk)

	return false
}

// triggerCheck triggers a check of a stopped informer. The caller holds the lock of the
// tracker.
func (f *kindWatcher) triggerCheck() {
	if f.informer == nil || !f.informer.IsStopped() {
		return
	}

	select {
	case f.checkNow <- struct{}{}:
	default:
	}
}

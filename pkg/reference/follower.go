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

// retryEvery is how often it is tried to watch a kind that cannot be watched, and
// how often it is seen whether the informer of one that is watched has ended.
const retryEvery = 10 * time.Second

// errUnread ends the attempts to watch a kind.
var errUnread = errors.New("nobody reads the kind any more")

// A follower hands the events of a kind on to the controller of a watch.
type follower struct {
	watch  *watch
	cache  cache.Cache
	events *events
	look   chan struct{} // receives when the informer has to be looked at now

	// Guarded by the tracker's lock.
	example  client.Object
	informer cache.Informer // nil while there is none
}

// run follows the kind until the context ends, or its informer has ended and nobody
// reads the kind any more. An informer ends when the cache drops it, which happens to
// kinds that are not served any more. If they are again, nobody but a new informer
// tells, and an owner that waits need not read before that.
func (f *follower) run(ctx context.Context) {
	for {
		informer, registration, err := f.join(ctx)
		if err != nil {
			f.events.tracker.log.Debug("Stopped trying to watch the kind of a referent", "kind", f.events.gvk.String(), "error", err)

			return
		}
		f.stay(ctx, informer)
		_ = informer.RemoveEventHandler(registration) // Fails only for a handler of another informer.
		if ctx.Err() != nil || !f.wanted() {
			return
		}
	}
}

// join tries to register at the informer of the kind until that succeeds.
func (f *follower) join(ctx context.Context) (cache.Informer, toolscache.ResourceEventHandlerRegistration, error) {
	log := f.events.tracker.log.WithValues("kind", f.events.gvk.String())

	var (
		informer     cache.Informer
		registration toolscache.ResourceEventHandlerRegistration
	)
	err := wait.PollUntilContextCancel(ctx, retryEvery, true, func(ctx context.Context) (bool, error) {
		var err error
		// Whoever reads the kind waits until it is there; here nobody has to.
		informer, err = f.cache.GetInformer(ctx, f.form(), cache.BlockUntilSynced(false))
		if err == nil {
			registration, err = informer.AddEventHandler(f.events)
		}
		if err == nil {
			f.use(informer)

			return true, nil
		}
		log.Info("Cannot watch the kind of a referent yet", "error", err)
		if !f.wanted() {
			return false, errUnread
		}

		return false, nil
	})

	return informer, registration, err
}

// stay returns when the informer or the context has ended.
func (f *follower) stay(ctx context.Context, informer cache.Informer) {
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()

	for !informer.IsStopped() {
		select {
		case <-ctx.Done():
			return
		case <-f.look:
		case <-ticker.C:
		}
	}
}

func (f *follower) form() client.Object {
	f.events.tracker.mu.Lock()
	defer f.events.tracker.mu.Unlock()

	return f.example
}

func (f *follower) use(informer cache.Informer) {
	f.events.tracker.mu.Lock()
	defer f.events.tracker.mu.Unlock()

	f.informer = informer
}

// wanted reports whether somebody reads the kind, in whatever form. If nobody does,
// the next read begins with another follower.
func (f *follower) wanted() bool {
	t := f.events.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	f.informer = nil
	if k := t.kinds[f.events.gvk]; k != nil {
		f.example = k.example

		return true
	}
	delete(f.watch.kinds, f.events.gvk)

	return false
}

// hurry is called with the tracker's lock held, whenever the kind is read.
func (f *follower) hurry() {
	if f.informer == nil || !f.informer.IsStopped() {
		return
	}

	select {
	case f.look <- struct{}{}:
	default:
	}
}

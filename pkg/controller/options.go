package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// Options configure the controllers of a provider. The zero value of a field
// leaves its choice to whoever reads it; DefaultOptions are all set.
//
// Copies share logger and limiter, both of which may be used concurrently.
type Options struct {
	// Logger is where controllers log. None means nowhere.
	Logger logging.Logger

	// GlobalRateLimiter bounds how often all controllers together start a pass.
	// None means no bound. It is independent of the back-off after a failure, which
	// each controller has for itself.
	GlobalRateLimiter workqueue.RateLimiter //nolint:staticcheck // The type that providers know; a TypedRateLimiter[any] is one, and the other way round.

	// PollInterval is how often an external resource is observed when nothing else
	// asks for it. Zero means the reconciler's own default.
	PollInterval time.Duration

	// MaxConcurrentReconciles is how many objects a controller works on at once.
	// Anything below one means one.
	MaxConcurrentReconciles int
}

// DefaultOptions returns options that log nothing, start one pass per second
// (ten at once), observe every minute, and work on one object at a time.
func DefaultOptions() Options {
	return Options{
		Logger:                  logging.NewNopLogger(),
		GlobalRateLimiter:       ratelimiter.NewGlobal(1),
		PollInterval:            time.Minute,
		MaxConcurrentReconciles: 1,
	}
}

// ForControllerRuntime returns the options of one controller-runtime controller.
// Each call returns a back-off of its own, from ratelimiter.BackOffBase to
// ratelimiter.BackOffMax per object, so that an object of one kind is not delayed
// by the failures of a namesake of another kind; and with NewQueue, so that a
// user's change does not wait behind polls, whatever the manager's own options say
// of priority queues.
//
// The GlobalRateLimiter is not part of it: ratelimiter.New applies it.
func (o Options) ForControllerRuntime() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: max(o.MaxConcurrentReconciles, 1),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			ratelimiter.BackOffBase, ratelimiter.BackOffMax),
		NewQueue: NewQueue[reconcile.Request],
	}
}

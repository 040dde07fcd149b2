package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// Options configure the controllers of a provider. A zero field means the default that its comment names.
// DefaultOptions sets all fields. Copies share the logger and the limiter, which may be used concurrently.
type Options struct {
	// Logger is the logger of the controllers. With nil they do not log.
	Logger logging.Logger

	// GlobalRateLimiter limits the rate of reconciles of all controllers together. Nil means no limit. It is independent
	// of the backoff after a failure, which each controller has for itself. A TypedRateLimiter[any] has this type.
	GlobalRateLimiter workqueue.RateLimiter //nolint:staticcheck // The type that existing providers use.

	// PollInterval is how often a healthy object is compared with its external resource. Zero means the default of the
	// reconciler.
	PollInterval time.Duration

	// MaxConcurrentReconciles is how many objects a controller reconciles concurrently.
	// Values below one mean one.
	MaxConcurrentReconciles int
}

// DefaultOptions returns options without logs, with one reconcile per second (a burst of
// ten), a poll interval of a minute, and one worker.
func DefaultOptions() Options {
	return Options{
		Logger:                  logging.NewNopLogger(),
		GlobalRateLimiter:       ratelimiter.NewGlobal(1),
		PollInterval:            time.Minute,
		MaxConcurrentReconciles: 1,
	}
}

// ForControllerRuntime returns the options of one controller of controller-runtime.
//
// Each call returns a separate backoff, from ratelimiter.BackOffBase to ratelimiter.BackOffMax per object. So
// failures of an object do not delay an object of another kind with the same name. The queue is the queue of
// NewQueue, even if the manager's options disable priority queues. So changes by users do not wait behind polls.
//
// The options do not include the GlobalRateLimiter. Apply it with ratelimiter.New.
func (o Options) ForControllerRuntime() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: max(o.MaxConcurrentReconciles, 1),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			ratelimiter.BackOffBase, ratelimiter.BackOffMax),
		NewQueue: NewQueue[reconcile.Request],
	}
}

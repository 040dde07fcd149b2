package reconciler

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithClock is [managed.WithClock].
func WithClock(c clock.PassiveClock) ReconcilerOption { return managed.WithClock(c) }

// WithCluster is [managed.WithCluster].
func WithCluster(c Cluster) ReconcilerOption { return managed.WithCluster(c) }

// WithCreationGracePeriod is [managed.WithCreationGracePeriod].
func WithCreationGracePeriod(d time.Duration) ReconcilerOption {
	return managed.WithCreationGracePeriod(d)
}

// WithCriticalAnnotationUpdater is [managed.WithCriticalAnnotationUpdater].
func WithCriticalAnnotationUpdater(u CriticalAnnotationUpdater) ReconcilerOption {
	return managed.WithCriticalAnnotationUpdater(u)
}

// WithDeterministicExternalName is [managed.WithDeterministicExternalName].
func WithDeterministicExternalName(b bool) ReconcilerOption {
	return managed.WithDeterministicExternalName(b)
}

// WithExternalConnectDisconnecter is [managed.WithExternalConnectDisconnecter].
func WithExternalConnectDisconnecter(c ExternalConnectDisconnecter) ReconcilerOption {
	return managed.WithExternalConnectDisconnecter(c)
}

// WithExternalConnecter is [managed.WithExternalConnecter].
func WithExternalConnecter(c ExternalConnecter) ReconcilerOption {
	return managed.WithExternalConnecter(c)
}

// WithFinalizer is [managed.WithFinalizer].
func WithFinalizer(f resource.Finalizer) ReconcilerOption { return managed.WithFinalizer(f) }

// WithPredecessor is [managed.WithPredecessor].
func WithPredecessor(domain string) ReconcilerOption { return managed.WithPredecessor(domain) }

// WithRetiredFinalizers is [managed.WithRetiredFinalizers].
func WithRetiredFinalizers(names ...string) ReconcilerOption {
	return managed.WithRetiredFinalizers(names...)
}

// WithRetiredAnnotations is [managed.WithRetiredAnnotations].
func WithRetiredAnnotations(names ...string) ReconcilerOption {
	return managed.WithRetiredAnnotations(names...)
}

// WithIgnoredFinalizers is [managed.WithIgnoredFinalizers].
func WithIgnoredFinalizers(names ...string) ReconcilerOption {
	return managed.WithIgnoredFinalizers(names...)
}

// WithMinPollInterval is [managed.WithMinPollInterval].
func WithMinPollInterval(least time.Duration) ReconcilerOption {
	return managed.WithMinPollInterval(least)
}

// WithPollInterval is [managed.WithPollInterval].
func WithPollInterval(after time.Duration) ReconcilerOption { return managed.WithPollInterval(after) }

// WithPollIntervalHook is [managed.WithPollIntervalHook].
func WithPollIntervalHook(hook PollIntervalHook) ReconcilerOption {
	return managed.WithPollIntervalHook(hook)
}

// WithAdaptivePoll is [managed.WithAdaptivePoll].
func WithAdaptivePoll(longest time.Duration) ReconcilerOption {
	return managed.WithAdaptivePoll(longest)
}

// WithSpreadAfterRestart is [managed.WithSpreadAfterRestart].
func WithSpreadAfterRestart(spread bool) ReconcilerOption {
	return managed.WithSpreadAfterRestart(spread)
}

// WithPollJitterHook is [managed.WithPollJitterHook].
func WithPollJitterHook(jitter time.Duration) ReconcilerOption {
	return managed.WithPollJitterHook(jitter)
}

// WithRandom is [managed.WithRandom].
func WithRandom(source func() float64) ReconcilerOption { return managed.WithRandom(source) }

// WithTimeout is [managed.WithTimeout].
func WithTimeout(duration time.Duration) ReconcilerOption { return managed.WithTimeout(duration) }

// WithVolatileStatus is [managed.WithVolatileStatus].
func WithVolatileStatus(paths ...string) ReconcilerOption {
	return managed.WithVolatileStatus(paths...)
}

// WithVolatileStatusInterval is [managed.WithVolatileStatusInterval].
func WithVolatileStatusInterval(d time.Duration) ReconcilerOption {
	return managed.WithVolatileStatusInterval(d)
}

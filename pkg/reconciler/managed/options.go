package managed

import (
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	defaultTimeout             = time.Minute
	defaultPollInterval        = time.Minute
	defaultMinPollInterval     = time.Second
	defaultCreationGracePeriod = 30 * time.Second
	defaultVolatileInterval    = 10 * time.Minute

	// The longest useful poll interval; ten times as much is still a duration.
	maxPollInterval = 30 * 24 * time.Hour

	// Jitter by default is a tenth of the poll interval to either side.
	defaultJitter = 0.1

	// What a pass may need for the API server beyond the external calls.
	persistTimeout = 30 * time.Second
)

// A ReconcilerOption configures a Reconciler. Options are applied in order.
type ReconcilerOption func(*Reconciler)

// A PollIntervalHook returns the delay until the next poll of an object, given the poll interval. The reconciler calls
// the hook after a pass with nothing left to do. A result that is not positive means the poll interval. If the hook
// panics, the reconciler reports that once, and uses the default hook. The hook is called concurrently.
type PollIntervalHook func(managed resource.Managed, pollInterval time.Duration) time.Duration

// WithTimeout sets the time that all external calls of a pass may take together. The default is one minute, also for
// values that are not positive. Requests to the API server at the end of the pass have another 30 seconds.
func WithTimeout(duration time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.timeout = positive(duration, defaultTimeout) }
}

// WithPollInterval sets how often a healthy object is compared with its external resource. The default is one minute,
// also for values that are not positive. The maximum is 30 days. The annotation moorage.dev/poll-interval sets
// another interval for one object, see [WithMinPollInterval].
func WithPollInterval(after time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.pollInterval = min(positive(after, defaultPollInterval), maxPollInterval) }
}

// WithMinPollInterval sets the shortest poll interval that the annotation of an object may set. The default is one
// second, also for values that are not positive.
func WithMinPollInterval(least time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.minPollInterval = positive(least, defaultMinPollInterval) }
}

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}

	return otherwise
}

// WithPollIntervalHook sets the hook that turns the poll interval into a delay. The default, which nil means too,
// adds or subtracts up to a tenth at random. If several options set a hook, the last one wins.
func WithPollIntervalHook(hook PollIntervalHook) ReconcilerOption {
	return func(r *Reconciler) { r.pollIntervalHook = hook }
}

// WithPollJitterHook sets a [PollIntervalHook] that adds a random duration between -jitter and +jitter to the poll
// interval. If several options set a hook, the last one wins.
func WithPollJitterHook(jitter time.Duration) ReconcilerOption {
	return func(r *Reconciler) {
		r.pollIntervalHook = func(_ resource.Managed, interval time.Duration) time.Duration {
			return interval + time.Duration((2*r.random()-1)*float64(jitter))
		}
	}
}

// WithAdaptivePoll sets a [PollIntervalHook] that polls an object less often the longer it has not changed. The delay
// is a tenth of the time since the last transition of the condition Ready. It is at least the poll interval and at
// most longest. See external.AdaptivePoll.
//
// The hook has no state, so a restart changes no interval. If several options set a hook, the last one wins.
func WithAdaptivePoll(longest time.Duration) ReconcilerOption {
	return func(r *Reconciler) {
		r.pollIntervalHook = func(mg resource.Managed, interval time.Duration) time.Duration {
			return external.AdaptivePoll(longest, r.clock)(mg, interval)
		}
	}
}

// WithCreationGracePeriod sets how long the reconciler waits until the external system shows a created resource. The
// default is 30 seconds. Give 0, or a negative value, if the client reads its own writes.
//
// During the period the reconciler does not create the resource again. It also keeps the finalizer of a deleted
// object whose resource is not found. The period begins when this process first knows of the creation. It is measured
// with a monotonic clock.
func WithCreationGracePeriod(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.grace = max(d, 0) }
}

// WithDeterministicExternalName sets whether the provider chooses external names. The default is false: the external
// system assigns them. With true, an object without an external name gets its metadata.name as external name before
// Connect. It is then safe to repeat a create, so the reconciler needs no record in the annotations before or after a
// create. True contradicts [WithCreationTokens].
func WithDeterministicExternalName(b bool) ReconcilerOption {
	return func(r *Reconciler) { r.named = b }
}

// WithVolatileStatus names fields of the status that change by themselves, such as counters. A path is relative to
// status, such as "atProvider.messages". A change of only these fields is written at most every ten minutes, see
// [WithVolatileStatusInterval]. It is written earlier if another field changes. An empty path, or a path with an
// empty element, is an error, see [NewReconciler].
func WithVolatileStatus(paths ...string) ReconcilerOption {
	return func(r *Reconciler) {
		for _, path := range paths {
			r.volatile = append(r.volatile, mergepatch.NewPath(strings.TrimPrefix(path, "status.")))
		}
	}
}

// WithVolatileStatusInterval sets how often the reconciler writes a status in which only volatile fields have
// changed. The default is ten minutes. With zero or a negative value it never does.
func WithVolatileStatusInterval(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.volatileInterval = max(d, 0) }
}

// WithIgnoredFinalizers names finalizers that do not delay the deletion of the external resource. By default the
// deletion waits until all other finalizers of the object are removed. The finalizers of the Kubernetes garbage
// collector (foregroundDeletion, orphan) never delay it.
func WithIgnoredFinalizers(names ...string) ReconcilerOption {
	return func(r *Reconciler) {
		for _, name := range names {
			r.ignoredFinalizers[name] = true
		}
	}
}

// WithExternalConnecter sets how to connect to the external system. If several options set a connecter, the last one
// wins.
func WithExternalConnecter(c ExternalConnecter) ReconcilerOption {
	return func(r *Reconciler) { r.connecter = NewNopDisconnecter(c) }
}

// WithExternalConnectDisconnecter sets how to connect to the external system, and how to disconnect at the end of
// each pass. If several options set a connecter, the last one wins.
func WithExternalConnectDisconnecter(c ExternalConnectDisconnecter) ReconcilerOption {
	return func(r *Reconciler) { r.connecter = c }
}

// WithCriticalAnnotationUpdater sets how the annotations are stored after Create. They are stored if Create set an
// annotation, or if an annotation records the result of Create. The default is a patch of only these annotations, which
// is retried for 25 seconds.
//
// An updater given here makes its own requests, and has to check what it overwrites. After a failed creation it is
// called only if a read from the API server has shown that no other creation has begun since.
func WithCriticalAnnotationUpdater(u CriticalAnnotationUpdater) ReconcilerOption {
	return func(r *Reconciler) { r.critical = u }
}

// WithFinalizer sets how the finalizer is added and removed. By default the reconciler writes [FinalizerName]
// together with its other changes of the object.
//
// A finalizer given here makes additional requests. Its AddFinalizer is called in every pass over an object that is
// not being deleted. The reconciler assumes that the finalizer is on every object that is being deleted.
func WithFinalizer(f resource.Finalizer) ReconcilerOption {
	return func(r *Reconciler) { r.finalizer = f }
}

// WithCluster sets where the managed resources live. The default is the manager
// given to [NewReconciler].
func WithCluster(c Cluster) ReconcilerOption {
	return func(r *Reconciler) { r.cluster = c }
}

// WithRestoreDetector reports to d if the API server returns an older version of an object than before. The API
// server does so only if its etcd was restored to an earlier state. The pass then fails with an error that wraps
// [controller.ErrRestored], without a decision. The check costs no request, because it uses the reads that a pass
// makes anyway.
//
// Once d knows of a restore, no pass begins. Before the process ends, the reconciler lists its kind from the API
// server. It writes back the records of creations that it knows and that the restored objects do not have. So the next
// process creates nothing twice. The log names the records that the reconciler could not write, and the external
// resources of objects that are gone.
//
// Give every Reconciler of a manager the detector that was added to the manager. The default is none.
func WithRestoreDetector(d *controller.RestoreDetector) ReconcilerOption {
	return func(r *Reconciler) { r.restores = d }
}

// WithLogger sets the logger. The default logs nothing.
func WithLogger(l logging.Logger) ReconcilerOption {
	return func(r *Reconciler) { r.log = l }
}

// WithRecorder sets the recorder of events. The default records nothing.
func WithRecorder(er event.Recorder) ReconcilerOption {
	return func(r *Reconciler) { r.recorder = er }
}

// WithThrottledRecorder sets the recorder of warnings. The default is the recorder of [WithRecorder]. With any
// recorder, the reconciler emits a warning when its cause begins, and not again while the cause lasts.
func WithThrottledRecorder(er event.Recorder) ReconcilerOption {
	return func(r *Reconciler) { r.warningRecorder = er }
}

// WithClock sets the clock for time windows and transition times. The default is the system clock. Timers always use
// the system clock.
func WithClock(c clock.PassiveClock) ReconcilerOption {
	return func(r *Reconciler) { r.clock = c }
}

// WithObjectStates gives a handle access to the reconciler's memory of its objects. The simulator compares and
// restores that memory through the handle. Only this module can make a handle.
func WithObjectStates(in *objectstate.Handle) ReconcilerOption {
	return func(r *Reconciler) { r.states = in }
}

// WithRandom sets the source of jitter, uniform in [0,1). The default is math/rand/v2. The source is called
// concurrently.
func WithRandom(source func() float64) ReconcilerOption {
	return func(r *Reconciler) { r.random = source }
}

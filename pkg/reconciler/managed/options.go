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

// A PollIntervalHook returns how long to wait before an object that needs
// nothing is looked at again, given the poll interval. What is not positive
// counts as the poll interval. A panic is reported once, and the default used. It is called by
// several passes at a time.
type PollIntervalHook func(managed resource.Managed, pollInterval time.Duration) time.Duration

// WithTimeout sets the time that all external calls of a pass may take
// together. The default is one minute; what is not positive is the default. The
// API server gets 30 seconds of its own after that.
func WithTimeout(duration time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.timeout = positive(duration, defaultTimeout) }
}

// WithPollInterval sets how often an object that needs nothing is compared with
// its external resource. The default is one minute; what is not positive is the
// default, and 30 days is the most. An object may ask for its own by the
// annotation moorage.dev/poll-interval, see [WithMinPollInterval].
func WithPollInterval(after time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.pollInterval = min(positive(after, defaultPollInterval), maxPollInterval) }
}

// WithMinPollInterval sets the least poll interval that an object may ask for.
// The default is one second; what is not positive is the default.
func WithMinPollInterval(least time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.minPollInterval = positive(least, defaultMinPollInterval) }
}

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}

	return otherwise
}

// WithPollIntervalHook sets what makes a delay of the poll interval. The default
// adds a random tenth to either side. The last hook given wins; nil is the
// default.
func WithPollIntervalHook(hook PollIntervalHook) ReconcilerOption {
	return func(r *Reconciler) { r.pollIntervalHook = hook }
}

// WithPollJitterHook is a WithPollIntervalHook that adds a random duration
// between -jitter and +jitter to the poll interval. The last hook given wins.
func WithPollJitterHook(jitter time.Duration) ReconcilerOption {
	return func(r *Reconciler) {
		r.pollIntervalHook = func(_ resource.Managed, interval time.Duration) time.Duration {
			return interval + time.Duration((2*r.random()-1)*float64(jitter))
		}
	}
}

// WithAdaptivePoll is a WithPollIntervalHook with which an object is looked at the
// less often the longer it has been as it is: after a tenth of the time that its
// condition Ready has stood, not before the poll interval and not after longest. See
// external.AdaptivePoll. Nothing is remembered, so that a restart changes no interval.
// The last hook given wins.
func WithAdaptivePoll(longest time.Duration) ReconcilerOption {
	return func(r *Reconciler) {
		r.pollIntervalHook = func(mg resource.Managed, interval time.Duration) time.Duration {
			return external.AdaptivePoll(longest, r.clock)(mg, interval)
		}
	}
}

// WithCreationGracePeriod sets how long to wait for the external system to show
// what it created. The default is 30 seconds. During it nothing is created
// again, and a deleted object whose resource does not show stays. Give 0 if the
// client reads its own writes; what is negative counts as 0. The period is counted from when this process
// first knew of the creation, on a clock that cannot be set.
func WithCreationGracePeriod(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.grace = max(d, 0) }
}

// WithDeterministicExternalName says whether external names are chosen here
// rather than assigned by the external system. The default is false. With true,
// an object without an external name gets that of its metadata before Connect;
// a create may then be repeated safely, and needs neither a mark before nor one
// after it. True contradicts [WithCreationTokens].
func WithDeterministicExternalName(b bool) ReconcilerOption {
	return func(r *Reconciler) { r.named = b }
}

// WithVolatileStatus names fields of the status that change by themselves, such
// as counters, by their paths below status ("atProvider.messages"). A change of
// only these is written at most every ten minutes, see
// [WithVolatileStatusInterval], and otherwise along with the next other change.
// A path without a name, or with an empty one, is an error, see [NewReconciler].
func WithVolatileStatus(paths ...string) ReconcilerOption {
	return func(r *Reconciler) {
		for _, path := range paths {
			r.volatile = append(r.volatile, mergepatch.NewPath(strings.TrimPrefix(path, "status.")))
		}
	}
}

// WithVolatileStatusInterval sets how often changes of only volatile fields are
// written. The default is ten minutes; 0 is never, and what is negative counts as 0.
func WithVolatileStatusInterval(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.volatileInterval = max(d, 0) }
}

// WithIgnoredFinalizers names finalizers of others that need not be gone before
// the external resource is deleted. The finalizers of Kubernetes' own garbage
// collection (foregroundDeletion, orphan) never delay.
func WithIgnoredFinalizers(names ...string) ReconcilerOption {
	return func(r *Reconciler) {
		for _, name := range names {
			r.ignoredFinalizers[name] = true
		}
	}
}

// WithExternalConnecter sets how to connect to the external system. The last
// connecter given wins, by whichever option.
func WithExternalConnecter(c ExternalConnecter) ReconcilerOption {
	return func(r *Reconciler) { r.connecter = NewNopDisconnecter(c) }
}

// WithExternalConnectDisconnecter sets how to connect to the external system,
// and how to disconnect at the end of each pass. The last connecter given wins.
func WithExternalConnectDisconnecter(c ExternalConnectDisconnecter) ReconcilerOption {
	return func(r *Reconciler) { r.connecter = c }
}

// WithCriticalAnnotationUpdater sets how the annotations that Create set are
// stored, if it set any or marks the result. The default is a patch of just
// those, retried for 25 seconds. An updater given here makes requests of its own, and has
// to check what it overwrites. A failed creation is passed to it only after a read
// from the API server has shown that no other creation was begun since.
func WithCriticalAnnotationUpdater(u CriticalAnnotationUpdater) ReconcilerOption {
	return func(r *Reconciler) { r.critical = u }
}

// WithFinalizer sets how the finalizer is added and removed. The default writes
// [FinalizerName] together with whatever else is written. A finalizer given here
// costs its own requests; AddFinalizer is called in every pass of a live object,
// and a deleted object is always taken to be kept by it.
func WithFinalizer(f resource.Finalizer) ReconcilerOption {
	return func(r *Reconciler) { r.finalizer = f }
}

// WithCluster sets where the managed resources live. The default is the manager
// given to [NewReconciler].
func WithCluster(c Cluster) ReconcilerOption {
	return func(r *Reconciler) { r.cluster = c }
}

// WithRestoreDetector reports to d when the API server answers an object in an older version
// than it has answered before, which it does only if its etcd was restored to an earlier state.
// The pass then fails with an error that is a [controller.ErrRestored], and nothing is decided.
// It costs no request: it looks at those reads of the API server that a pass makes anyway.
//
// Once d knows of a restore, no pass begins. Before the process ends, the
// reconciler lists its kind from the API server itself, and writes back the records of creations
// that it knows and the restored state does not have, so that the next process creates nothing
// twice. The log names the records that it could not write, and the external resources of objects that are
// gone. Give every Reconciler of a manager the detector that was added to it. The default is none.
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

// WithThrottledRecorder sets the recorder of warnings. The default is that of
// [WithRecorder], which then records everything. A warning is emitted when it
// becomes true, and not again while it stays so, whatever the recorder does.
func WithThrottledRecorder(er event.Recorder) ReconcilerOption {
	return func(r *Reconciler) { r.warningRecorder = er }
}

// WithClock sets the clock that windows and transition times are read from. The
// default is the system's. Timers are not its business.
func WithClock(c clock.PassiveClock) ReconcilerOption {
	return func(r *Reconciler) { r.clock = c }
}

// WithObjectStates puts the keeper of what the reconciler remembers of its objects
// into a handle, for the simulator to compare and restore. Only this module can
// make such a handle.
func WithObjectStates(in *objectstate.Handle) ReconcilerOption {
	return func(r *Reconciler) { r.states = in }
}

// WithRandom sets the source of jitter, uniform in [0,1). The default is that of
// math/rand/v2. It is called by several passes at a time.
func WithRandom(source func() float64) ReconcilerOption {
	return func(r *Reconciler) { r.random = source }
}

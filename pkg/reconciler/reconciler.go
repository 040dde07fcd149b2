package reconciler

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is [managed.FinalizerName].
const FinalizerName = managed.FinalizerName

type (
	// A Reconciler is a [managed.Reconciler].
	Reconciler = managed.Reconciler

	// A ReconcilerOption is a [managed.ReconcilerOption]. Every option of managed is one.
	ReconcilerOption = managed.ReconcilerOption

	// A PollIntervalHook is a [managed.PollIntervalHook].
	PollIntervalHook = managed.PollIntervalHook

	// A CriticalAnnotationUpdater is a [managed.CriticalAnnotationUpdater].
	CriticalAnnotationUpdater = managed.CriticalAnnotationUpdater

	// A CriticalAnnotationUpdateFn is a [managed.CriticalAnnotationUpdateFn].
	CriticalAnnotationUpdateFn = managed.CriticalAnnotationUpdateFn

	// A RetryingCriticalAnnotationUpdater is a [managed.RetryingCriticalAnnotationUpdater].
	RetryingCriticalAnnotationUpdater = managed.RetryingCriticalAnnotationUpdater

	// An ExternalClient is a [managed.ExternalClient].
	ExternalClient = managed.ExternalClient

	// ExternalClientFns are [managed.ExternalClientFns].
	ExternalClientFns = managed.ExternalClientFns

	// An ExternalObservation is a [managed.ExternalObservation].
	ExternalObservation = managed.ExternalObservation

	// An ExternalConnecter is a [managed.ExternalConnecter].
	ExternalConnecter = managed.ExternalConnecter

	// An ExternalConnectorFn is a [managed.ExternalConnectorFn].
	ExternalConnectorFn = managed.ExternalConnectorFn

	// An ExternalDisconnecter is a [managed.ExternalDisconnecter].
	ExternalDisconnecter = managed.ExternalDisconnecter

	// An ExternalDisconnectorFn is a [managed.ExternalDisconnectorFn].
	ExternalDisconnectorFn = managed.ExternalDisconnectorFn

	// An ExternalConnectDisconnecter is a [managed.ExternalConnectDisconnecter].
	ExternalConnectDisconnecter = managed.ExternalConnectDisconnecter

	// ExternalConnectDisconnecterFns are [managed.ExternalConnectDisconnecterFns].
	ExternalConnectDisconnecterFns = managed.ExternalConnectDisconnecterFns

	// A NopClient is a [managed.NopClient].
	NopClient = managed.NopClient

	// A NopConnecter is a [managed.NopConnecter].
	NopConnecter = managed.NopConnecter

	// A NopDisconnecter is a [managed.NopDisconnecter].
	NopDisconnecter = managed.NopDisconnecter
)

// ControllerName is [managed.ControllerName].
func ControllerName(kind string) string { return managed.ControllerName(kind) }

// NewReconciler is [managed.NewReconciler].
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	return managed.NewReconciler(m, of, o...)
}

// NewNopDisconnecter is [managed.NewNopDisconnecter].
func NewNopDisconnecter(c ExternalConnecter) ExternalConnectDisconnecter {
	return managed.NewNopDisconnecter(c)
}

// NewRetryingCriticalAnnotationUpdater is [managed.NewRetryingCriticalAnnotationUpdater].
func NewRetryingCriticalAnnotationUpdater(c client.Client) *RetryingCriticalAnnotationUpdater {
	return managed.NewRetryingCriticalAnnotationUpdater(c)
}

// WithCreationGracePeriod is [managed.WithCreationGracePeriod].
func WithCreationGracePeriod(d time.Duration) ReconcilerOption {
	return managed.WithCreationGracePeriod(d)
}

// WithCriticalAnnotationUpdater is [managed.WithCriticalAnnotationUpdater].
func WithCriticalAnnotationUpdater(u CriticalAnnotationUpdater) ReconcilerOption {
	return managed.WithCriticalAnnotationUpdater(u)
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

// WithLogger is [managed.WithLogger].
func WithLogger(l logging.Logger) ReconcilerOption { return managed.WithLogger(l) }

// WithPollInterval is [managed.WithPollInterval].
func WithPollInterval(after time.Duration) ReconcilerOption { return managed.WithPollInterval(after) }

// WithPollIntervalHook is [managed.WithPollIntervalHook].
func WithPollIntervalHook(hook PollIntervalHook) ReconcilerOption {
	return managed.WithPollIntervalHook(hook)
}

// WithPollJitterHook is [managed.WithPollJitterHook].
func WithPollJitterHook(jitter time.Duration) ReconcilerOption {
	return managed.WithPollJitterHook(jitter)
}

// WithRecorder is [managed.WithRecorder].
func WithRecorder(er event.Recorder) ReconcilerOption { return managed.WithRecorder(er) }

// WithTimeout is [managed.WithTimeout].
func WithTimeout(duration time.Duration) ReconcilerOption { return managed.WithTimeout(duration) }

package reconciler

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

type (
	// A Reconciler keeps one kind of managed resource and the external resources
	// behind it in step.
	Reconciler = managed.Reconciler

	// A ReconcilerOption configures a Reconciler.
	ReconcilerOption = managed.ReconcilerOption

	// A Cluster is where managed resources live.
	Cluster = managed.Cluster

	// A PollIntervalHook makes a delay of the poll interval.
	PollIntervalHook = managed.PollIntervalHook

	// A CriticalAnnotationUpdater stores annotations that must not be lost.
	CriticalAnnotationUpdater = managed.CriticalAnnotationUpdater

	// A CriticalAnnotationUpdateFn is a CriticalAnnotationUpdater made of a
	// function.
	CriticalAnnotationUpdateFn = managed.CriticalAnnotationUpdateFn

	// A RetryingCriticalAnnotationUpdater tries again when storing failed.
	RetryingCriticalAnnotationUpdater = managed.RetryingCriticalAnnotationUpdater
)

// NewReconciler is [managed.NewReconciler].
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	return managed.NewReconciler(m, of, o...)
}

// Setup is [managed.Setup].
func Setup(m manager.Manager, of resource.ManagedKind, o controller.Options, ro ...ReconcilerOption) error {
	return managed.Setup(m, of, o, ro...)
}

// SetupGated is [managed.SetupGated].
func SetupGated(m manager.Manager, g *crdgate.Gate, of resource.ManagedKind, o controller.Options, ro ...ReconcilerOption) error {
	return managed.SetupGated(m, g, of, o, ro...)
}

// ControllerName is [managed.ControllerName].
func ControllerName(kind string) string { return managed.ControllerName(kind) }

// CacheOptions is [managed.CacheOptions].
func CacheOptions() cache.Options { return managed.CacheOptions() }

// NewRetryingCriticalAnnotationUpdater is
// [managed.NewRetryingCriticalAnnotationUpdater].
func NewRetryingCriticalAnnotationUpdater(c client.Client) *RetryingCriticalAnnotationUpdater {
	return managed.NewRetryingCriticalAnnotationUpdater(c)
}

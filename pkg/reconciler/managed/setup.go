package managed

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Setup adds a controller for the kind to the manager. It is all the wiring a
// provider needs: the controller's name, its watch with [Reconciler.Predicate],
// its workers and back-off, a recorder of events, and logger, poll interval and
// rate limiter as the options say. The zero value of controller.Options means
// its defaults. Reconciler options are applied last, so they win.
//
// It returns an error if the kind is not registered in the scheme of the
// manager, or is no resource.Managed.
func Setup(m manager.Manager, of resource.ManagedKind, o controller.Options, ro ...ReconcilerOption) error {
	gvk := schema.GroupVersionKind(of)
	object, err := m.GetScheme().New(gvk)
	if err != nil {
		return errors.Wrap(err, "cannot set up a controller for an unregistered kind")
	}
	mg, ok := object.(resource.Managed)
	if !ok {
		return errors.Errorf("cannot set up a controller for %s: %T is no managed resource, it needs GetCondition and SetConditions", gvk.Kind, object)
	}
	if o.Logger == nil {
		o.Logger = logging.NewNopLogger()
	}
	name := ControllerName(gvk.GroupKind().String())
	options := append([]ReconcilerOption{
		WithLogger(o.Logger.WithValues("controller", name)),
		WithPollInterval(o.PollInterval),
		WithRecorder(event.NewRecorder(m.GetEventRecorder(name))),
	}, ro...)
	r := NewReconciler(m, of, options...)

	var handler reconcile.Reconciler = r
	queue := o.ForControllerRuntime()
	if o.GlobalRateLimiter != nil {
		limited := ratelimiter.New(name, r, o.GlobalRateLimiter)
		queue.RateLimiter = limited.KeepBackOff(queue.RateLimiter)
		handler = limited
	}

	return errors.Wrapf(ctrl.NewControllerManagedBy(m).
		Named(name).
		For(mg, builder.WithPredicates(r.Predicate())).
		WithOptions(queue).
		Complete(handler), "cannot set up the controller %s", name)
}

// CacheOptions returns options of a manager's cache that keep it small: managed
// fields, which no reconciler reads, are not kept.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
}

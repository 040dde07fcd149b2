package managed

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A watch is what else makes a controller look at its objects.
type watch struct {
	object  client.Object
	handler handler.EventHandler
}

// WithWatch adds a watch to the controller that [Setup] or [SetupGated] adds. When an object of the given type
// changes, the controller reconciles the objects that the handler enqueues. An example is the objects that use a
// configuration, see providerconfig.EnqueueUsers.
//
// The option may be given several times. By default the controller watches only the kind and the objects that it
// refers to. An event also ends any wait of the objects that the handler enqueues, such as a backoff or the wait
// after a terminal error.
func WithWatch(object client.Object, h handler.EventHandler) ReconcilerOption {
	return func(r *Reconciler) { r.watches = append(r.watches, watch{object, h}) }
}

// Setup adds a controller for the kind to the manager. A provider needs no other wiring. Setup configures:
//
//   - the name of the controller,
//   - its watches, with [Reconciler.Predicate] and [Reconciler.References],
//   - its workers, backoff, logger, poll interval and rate limiter, as the options say,
//   - its recorder of events,
//   - a check of its workers for the health endpoint, see [WithLivenessCheck].
//
// The zero value of controller.Options means its defaults. Reconciler options are applied last and override
// controller.Options.
//
// With the manager of a [Planner] no controller is added: the planner gets the kind.
//
// Setup returns an error if the kind is not registered in the scheme of the manager, or does not implement
// resource.Managed. It also returns an error if options contradict each other or have an undefined value; the error
// names each of these options.
func Setup(m manager.Manager, of resource.ManagedKind, o controller.Options, ro ...ReconcilerOption) error {
	name := controllerName(of)
	mg, err := example(m, of, ro)
	if err != nil {
		return err
	}
	r, options := wire(m, of, o, ro)
	if isPlanning(m) {
		return nil
	}
	addLiveness(m, name, options).reconciler.Store(r)
	r.inspected.readFrom(m.GetCache())
	outer := options.Reconciler
	options.Reconciler = nil // a builder wants it apart

	b := ctrl.NewControllerManagedBy(m).
		Named(name).
		For(mg, builder.WithPredicates(r.Predicate())).
		WatchesRawSource(r.References(m.GetCache())).
		WatchesRawSource(r.Notifications()).
		WatchesRawSource(r.lifetime()).
		WatchesRawSource(r.overdue()).
		WithOptions(options)
	for _, w := range r.watches {
		b = b.Watches(w.object, w.handler)
	}

	return errors.Wrapf(b.Complete(outer), "cannot set up the controller %s", name)
}

// lifetime is a source of no requests. What Setup made for the controller ends with it: the process may go on without
// its manager, and would keep all events that wait.
func (r *Reconciler) lifetime() source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		context.AfterFunc(ctx, r.pace.Stop)
		context.AfterFunc(ctx, func() { r.inspected.readFrom(nil) })

		return nil
	})
}

// SetupGated is [Setup] for a kind whose CustomResourceDefinition may not exist. The controller starts when the gate
// finds the CustomResourceDefinition, and stops when the CustomResourceDefinition is removed. Add the gate to the
// manager once, and share it among all kinds.
func SetupGated(m manager.Manager, g *crdgate.Gate, of resource.ManagedKind, o controller.Options,
	ro ...ReconcilerOption) error {
	mg, err := example(m, of, ro)
	if err != nil {
		return err
	}
	if isPlanning(m) {
		wire(m, of, o, ro)

		return nil
	}
	alive := addLiveness(m, controllerName(of), o.ForControllerRuntime())
	g.Add([]schema.GroupVersionKind{schema.GroupVersionKind(of)}, func(ctx context.Context) error {
		r, options := wire(m, of, o, ro)
		alive.reconciler.Store(r)
		defer alive.reconciler.Store(nil)
		defer r.objects.Clear() // others look after the objects
		defer r.stopRestoreWatch()
		defer r.pace.Stop()
		defer r.inspected.readFrom(nil)

		return crdgate.RunController(ctx, m, controllerName(of), options, func(c cache.Cache) []source.Source {
			var own client.Object = mg
			r.inspected.readFrom(c)
			sources := []source.Source{source.Kind(c, own, &handler.EnqueueRequestForObject{}, r.Predicate()),
				r.References(c), r.Notifications(), r.overdue()}
			for _, w := range r.watches {
				sources = append(sources, source.Kind(c, w.object, w.handler))
			}

			return sources
		})
	})

	return nil
}

// example returns an object of the kind, or an error if no controller can be made for the kind with the options.
func example(m manager.Manager, of resource.ManagedKind, ro []ReconcilerOption) (resource.Managed, error) {
	gvk := schema.GroupVersionKind(of)
	object, err := m.GetScheme().New(gvk)
	if err != nil {
		return nil, errors.Wrap(err, "cannot set up a controller for an unregistered kind")
	}
	mg, ok := object.(resource.Managed)
	if !ok {
		return nil, errors.Errorf("cannot set up a controller for %s: %T is no managed resource, it needs GetCondition "+
			"and SetConditions", gvk.Kind, object)
	}

	return mg, errors.Wrapf(checkOptions(m, ro), "cannot set up a controller for %s with its options", gvk.Kind)
}

// wire makes a reconciler, and the options of a controller that runs it.
func wire(m manager.Manager, of resource.ManagedKind, o controller.Options,
	ro []ReconcilerOption) (*Reconciler, ctrlcontroller.Options) {
	if o.Logger == nil {
		o.Logger = logging.NewNopLogger()
	}
	name := controllerName(of)
	pace := event.NewPacedRecorder(event.NewRecorder(m.GetEventRecorder(name)), m.GetScheme())
	r := NewReconciler(m, of, append([]ReconcilerOption{
		WithLogger(o.Logger.WithValues("controller", name)),
		WithPollInterval(o.PollInterval),
		WithRecorder(pace),
	}, ro...)...)
	r.pace = pace

	options := o.ForControllerRuntime()
	options.Reconciler = r
	switch global := o.GlobalRateLimiter.(type) {
	case nil:
	case *workqueue.TypedBucketRateLimiter[any]:
		// A pass that has started and then waits for a token delays objects of a higher priority.
		options.NewQueue = controller.NewPacedQueue[reconcile.Request](global.Limiter)
	default:
		limited := ratelimiter.New(name, r, o.GlobalRateLimiter)
		options.RateLimiter = limited.KeepBackOff(options.RateLimiter)
		options.Reconciler = limited
	}

	return r, r.inspected.watchQueue(options)
}

func controllerName(of resource.ManagedKind) string {
	return ControllerName(schema.GroupVersionKind(of).GroupKind().String())
}

package serviceprovider

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// SetupWithManager adds the controller to the manager of the onboarding cluster. The controller reads objects from the
// cache of this manager. If Secrets, ConfigMaps or configurations of the platform cluster are watched, also add the
// platform cluster to the manager. The controller uses the configurations that it receives over the channel, unless a
// ConfigSource is set. The channel may be nil. SetupWithManager returns an error if the argument name is empty.
func (r *APIReconciler[T, C]) SetupWithManager(
	mgr ctrl.Manager, name string, providerConfigUpdates chan event.GenericEvent,
) error {
	if name == "" {
		return errors.New("cannot set up a controller without a name")
	}
	r.cache = mgr.GetClient()
	r.countOutcome = outcomeCounter(name)
	options := r.watches.controller
	options.Reconciler = r
	c, err := controller.New(name, mgr, options)
	if err != nil {
		return errors.Wrapf(err, "cannot set up the controller %s", name)
	}
	sources, err := r.sources(mgr, providerConfigUpdates)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return errors.Wrapf(err, "cannot set up a source of the controller %s", name)
		}
	}

	return nil
}

// SetupWithManagerNamed calls SetupWithManager without a channel. If EmptyConfigProvider was called, and ConfigSource
// was not, the controller uses one configuration on the platform cluster: the configuration whose name is the name of
// the controller.
func (r *APIReconciler[T, C]) SetupWithManagerNamed(mgr ctrl.Manager, name string) error {
	if r.newConfig != nil && r.usesChannel() {
		r.configs = NamedConfig[T](r.platform, name, r.newConfig)
	}

	return r.SetupWithManager(mgr, name, nil)
}

// sources returns all sources of reconcile requests.
func (r *APIReconciler[T, C]) sources(mgr ctrl.Manager, updates chan event.GenericEvent) ([]source.Source, error) {
	predicates := r.watches.predicates
	if len(predicates) == 0 {
		predicates = []predicate.Predicate{r.defaultPredicate()}
	}
	sources := []source.Source{
		source.Kind(mgr.GetCache(), client.Object(r.newObject()), &handler.EnqueueRequestForObject{}, predicates...),
	}
	if s := r.configs.Source(r.enqueueUsers); s != nil {
		sources = append(sources, s)
	}
	if updates != nil {
		sources = append(sources, r.channelSource(updates))
	}
	if w, ok := r.access.(AccessWatcher); ok {
		sources = append(sources, w.AccessSources()...)
	}
	references, err := r.referenceSources(mgr)

	return append(sources, references...), err
}

// channelSource returns a source that receives configurations, and requeues all objects for each configuration.
func (r *APIReconciler[T, C]) channelSource(updates chan event.GenericEvent) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-updates:
					r.channelConfig.receive(e)
					enqueueLowPriority(q, r.enqueueAll(ctx))
				}
			}
		}()

		return nil
	})
}

// mapSecretToRequests returns the function that maps a Secret to requests. It returns nil if the Reconciler is neither
// a SecretMapper nor a SecretWatcher.
func (r *APIReconciler[T, C]) mapSecretToRequests() func(context.Context, client.Object) []reconcile.Request {
	mapper, maps := r.domain.(SecretMapper[C])
	watcher, watches := r.domain.(SecretWatcher[C])
	if !maps && !watches {
		return nil
	}

	return func(ctx context.Context, o client.Object) []reconcile.Request {
		secret, ok := o.(*corev1.Secret)
		switch {
		case !ok:
			return nil
		case maps:
			return mapper.ObjectsForSecret(ctx, secret, r.currentConfig(ctx))
		case watcher.IsReferencedSecret(ctx, secret, r.currentConfig(ctx)):
			return r.enqueueAll(ctx)
		default:
			return nil
		}
	}
}

// mapConfigMapToRequests returns the function that maps a ConfigMap to requests. It returns nil if the Reconciler is
// not a ConfigMapWatcher.
func (r *APIReconciler[T, C]) mapConfigMapToRequests() func(context.Context, client.Object) []reconcile.Request {
	watcher, watches := r.domain.(ConfigMapWatcher[C])
	if !watches {
		return nil
	}

	return func(ctx context.Context, o client.Object) []reconcile.Request {
		m, ok := o.(*corev1.ConfigMap)
		if !ok || !watcher.IsReferencedConfigMap(ctx, m, r.currentConfig(ctx)) {
			return nil
		}

		return r.enqueueAll(ctx)
	}
}

// currentConfig returns the configuration for an empty object, or the zero value if there is none.
func (r *APIReconciler[T, C]) currentConfig(ctx context.Context) C {
	c, err := r.configs.ConfigFor(ctx, r.newObject())
	if err != nil {
		var none C

		return none
	}

	return c
}

// usesChannel reports whether configurations come over the channel.
func (r *APIReconciler[T, C]) usesChannel() bool {
	return r.configs == ConfigSource[T, C](r.channelConfig)
}

// defaultPredicate returns the predicate that is used if the author sets no predicates.
func (r *APIReconciler[T, C]) defaultPredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return specOrMetadataChanged(e) || !slices.Equal(foreignFinalizers(e.ObjectOld), foreignFinalizers(e.ObjectNew))
	}}
}

// specOrMetadataChanged reports whether the generation, labels, annotations or deletion timestamp of the object have
// changed. It also returns true if another object with the same name has replaced the object.
func specOrMetadataChanged(e event.UpdateEvent) bool {
	before, now := e.ObjectOld, e.ObjectNew

	return before.GetUID() != now.GetUID() || before.GetGeneration() != now.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(now.GetDeletionTimestamp()) ||
		!equality.Semantic.DeepEqual(before.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), now.GetAnnotations())
}

// foreignFinalizers returns the finalizers of other controllers.
func foreignFinalizers(o client.Object) []string {
	api, ok := o.(API)

	return slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return ok && f == api.Finalizer() })
}

// outcomeCounter returns the function that counts the passes of a controller by outcome.
func outcomeCounter(name string) func(outcome string) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "moorage_serviceprovider_passes_total",
		Help: "Passes over objects of a service, by controller and outcome.",
	}, []string{"controller", "outcome"})
	var registered prometheus.AlreadyRegisteredError
	if err := ctrlmetrics.Registry.Register(vec); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			vec = existing
		}
	}

	return func(outcome string) { vec.WithLabelValues(name, outcome).Inc() }
}

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

// SetupWithManager adds the controller to a manager, that of the onboarding cluster: its
// cache is where objects are read from. The platform cluster has to be added to it, too,
// if its Secrets, ConfigMaps or configurations are watched. Configurations that are
// sent over the channel are used from then on, unless there is a ConfigSource; nil is
// no channel. It returns an error if the name is empty.
func (r *APIReconciler[T, C]) SetupWithManager(mgr ctrl.Manager, name string, providerConfigUpdates chan event.GenericEvent) error {
	if name == "" {
		return errors.New("cannot set up a controller without a name")
	}
	r.cached = mgr.GetClient()
	r.count = counter(name)
	options := r.options
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

// SetupWithManagerNamed is SetupWithManager without a channel. If EmptyConfigProvider was
// called and ConfigSource was not, the configuration is the one of this name on the
// platform cluster.
func (r *APIReconciler[T, C]) SetupWithManagerNamed(mgr ctrl.Manager, name string) error {
	if r.emptyConfig != nil && r.isSent() {
		r.configs = NamedConfig[T](r.platform, name, r.emptyConfig)
	}

	return r.SetupWithManager(mgr, name, nil)
}

// Sources returns everything that lets objects be looked at.
func (r *APIReconciler[T, C]) sources(mgr ctrl.Manager, updates chan event.GenericEvent) ([]source.Source, error) {
	predicates := r.predicates
	if len(predicates) == 0 {
		predicates = []predicate.Predicate{r.concerns()}
	}
	sources := []source.Source{source.Kind(mgr.GetCache(), client.Object(r.empty()), &handler.EnqueueRequestForObject{}, predicates...)}
	if s := r.configs.Source(r.enqueueUsers); s != nil {
		sources = append(sources, s)
	}
	if updates != nil {
		sources = append(sources, r.channel(updates))
	}
	if w, ok := r.access.(AccessWatcher); ok {
		sources = append(sources, w.AccessSources()...)
	}
	references, err := r.references(mgr)

	return append(sources, references...), err
}

// Channel takes configurations in, and lets all objects be looked at.
func (r *APIReconciler[T, C]) channel(updates chan event.GenericEvent) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-updates:
					r.sent.take(e)
					add(q, r.enqueueAll(ctx))
				}
			}
		}()

		return nil
	})
}

// MapSecretToRequests returns what leads from a Secret to objects, nil if the domain does
// not care.
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

// CurrentConfig returns the configuration of an object that says nothing of itself, the
// zero value if there is none.
func (r *APIReconciler[T, C]) currentConfig(ctx context.Context) C {
	c, err := r.configs.ConfigFor(ctx, r.empty())
	if err != nil {
		var none C

		return none
	}

	return c
}

// IsSent reports whether configurations come over the channel.
func (r *APIReconciler[T, C]) isSent() bool { return r.configs == ConfigSource[T, C](r.sent) }

// Concerns is the default predicate.
func (r *APIReconciler[T, C]) concerns() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return differs(e) || !slices.Equal(foreign(e.ObjectOld), foreign(e.ObjectNew))
	}}
}

// Differs reports whether anybody wants something else of an object than before.
func differs(e event.UpdateEvent) bool {
	before, now := e.ObjectOld, e.ObjectNew

	return before.GetUID() != now.GetUID() || before.GetGeneration() != now.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(now.GetDeletionTimestamp()) ||
		!equality.Semantic.DeepEqual(before.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), now.GetAnnotations())
}

// Foreign returns the finalizers of others.
func foreign(o client.Object) []string {
	api, ok := o.(API)

	return slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return ok && f == api.Finalizer() })
}

// Counter returns what counts passes of a controller by their outcomes.
func counter(name string) func(outcome string) {
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

package serviceprovider

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A ConfigReconciler sends the configuration of a provider over a channel each time the configuration changes. You do
// not need it if the ConfigSource of the APIReconciler watches the configuration, as NamedConfig does.
type ConfigReconciler[T Config] struct {
	newConfig func() T
	platform  *clusters.Cluster
	updates   chan event.GenericEvent
	name      string
}

// Reconcile sends the configuration over the channel. If the configuration does not exist or is being deleted,
// Reconcile sends an event without an object. If the read fails, Reconcile sends nothing and returns the error.
// Reconcile blocks until the event is received or the context ends.
func (r *ConfigReconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	config := r.newConfig()
	var sent event.GenericEvent
	err := r.platform.Client().Get(ctx, req.NamespacedName, config)
	switch {
	case gone.Answered(err, req.Name):
	case err != nil:
		return ctrl.Result{}, errors.Wrap(err, "cannot get the provider config")
	case config.GetDeletionTimestamp().IsZero():
		sent.Object = config
	}
	select {
	case r.updates <- sent:
		return ctrl.Result{}, nil
	case <-ctx.Done():
		return ctrl.Result{}, errors.Wrap(ctx.Err(), "the provider config was not received")
	}
}

// SetupWithManager adds the controller to a manager. The caller must also add the platform cluster to the manager.
func (r *ConfigReconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	whole := r.platform.Cluster()
	if whole == nil {
		return errors.New("the platform cluster has no cache: initialize its client")
	}
	// Several providers may share a process, so the name of the controller contains the name of the provider.
	c, err := controller.New("providerconfig-"+r.name, mgr, controller.Options{Reconciler: r})
	if err != nil {
		return errors.Wrap(err, "cannot set up the controller of the provider config")
	}
	mine := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetName() == r.name &&
			o.GetNamespace() == ""
	})

	return c.Watch(source.Kind(whole.GetCache(), client.Object(r.newConfig()), &handler.EnqueueRequestForObject{},
		mine))
}

// A ConfigReconcilerBuilder builds a ConfigReconciler. Start with NewConfigReconcilerBuilder. All
// values are required.
type ConfigReconcilerBuilder[T Config] struct{ reconciler ConfigReconciler[T] }

// NewConfigReconcilerBuilder returns an empty builder.
func NewConfigReconcilerBuilder[T Config]() *ConfigReconcilerBuilder[T] {
	return &ConfigReconcilerBuilder[T]{}
}

// EmptyObjectProvider sets the function that returns an empty configuration.
func (b *ConfigReconcilerBuilder[T]) EmptyObjectProvider(emptyObj func() T) *ConfigReconcilerBuilder[T] {
	b.reconciler.newConfig = emptyObj

	return b
}

// PlatformCluster sets the connection to the platform cluster, which contains the configuration.
func (b *ConfigReconcilerBuilder[T]) PlatformCluster(c *clusters.Cluster) *ConfigReconcilerBuilder[T] {
	b.reconciler.platform = c

	return b
}

// ProviderName sets the name of the configuration.
func (b *ConfigReconcilerBuilder[T]) ProviderName(name string) *ConfigReconcilerBuilder[T] {
	b.reconciler.name = name

	return b
}

// UpdateChannel sets the channel over which the reconciler sends the configuration.
func (b *ConfigReconcilerBuilder[T]) UpdateChannel(c chan event.GenericEvent) *ConfigReconcilerBuilder[T] {
	b.reconciler.updates = c

	return b
}

// Build returns the reconciler. It returns an error if a value is missing or the platform cluster has no client. Later
// calls of the builder do not change the reconciler.
func (b *ConfigReconcilerBuilder[T]) Build() (*ConfigReconciler[T], error) {
	for _, required := range []struct {
		problem string
		bad     bool
	}{
		{"empty object provider is missing", b.reconciler.newConfig == nil},
		{"platform cluster " + clusterProblem(b.reconciler.platform), clusterProblem(b.reconciler.platform) != ""},
		{"update channel is missing", b.reconciler.updates == nil},
		{"provider name is missing", b.reconciler.name == ""},
	} {
		if required.bad {
			return nil, errors.Errorf("cannot build the config reconciler: %s", required.problem)
		}
	}

	return new(b.reconciler), nil
}

// MustBuild is like Build, but panics instead of returning an error. Use it in package main.
func (b *ConfigReconcilerBuilder[T]) MustBuild() *ConfigReconciler[T] {
	r, err := b.Build()
	if err != nil {
		panic(err)
	}

	return r
}

package serviceprovider

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/access"
)

// OperationAnnotation is the default key of the annotation by which a user pauses or requests reconciliation. Its
// values are OperationIgnore and OperationReconcile.
const OperationAnnotation = "openmcp.cloud/operation"

// Values of the annotation.
const (
	// OperationIgnore pauses reconciliation. It also pauses a deletion, unless DeleteWhenPaused was called with true.
	OperationIgnore = "ignore"

	// OperationReconcile requests a reconcile now. The controller then removes the annotation.
	OperationReconcile = "reconcile"
)

// An APIReconcilerBuilder builds an APIReconciler. Start with NewAPIReconcilerBuilder. The calls of
// EmptyObjectProvider, OnboardingCluster, PlatformCluster and Reconciler are required. A call of either
// ClusterAccessReconciler or AdvancedClusterAccessReconciler is required as well.
type APIReconcilerBuilder[T API, C Config] struct {
	reconciler APIReconciler[T, C]

	// What Build makes channelConfig and clusterIDs of.
	initial       C
	hasInitial    bool
	workload      bool
	extraClusters []string
}

// NewAPIReconcilerBuilder returns an empty builder.
func NewAPIReconcilerBuilder[T API, C Config]() *APIReconcilerBuilder[T, C] {
	return &APIReconcilerBuilder[T, C]{reconciler: APIReconciler[T, C]{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: clock.RealClock{},
		random:     rand.Float64,
		annotation: OperationAnnotation,
		deletion:   deletionOptions{onClusterGone: DeletionBlock, withoutConfig: DeletionBlock},
	}}
}

// ClusterAccessReconciler sets the provider of access to the clusters of an object.
func (b *APIReconcilerBuilder[T, C]) ClusterAccessReconciler(car ClusterAccessProvider) *APIReconcilerBuilder[T, C] {
	b.reconciler.access = nil
	if !isNil(car) {
		b.reconciler.access = SimpleProviderAdapter{Provider: car}
	}

	return b
}

// AdvancedClusterAccessReconciler sets the provider of access to the clusters of an object. If the provider needs
// additional data, call AdvancedClusterAccessReconciler instead of ClusterAccessReconciler.
func (b *APIReconcilerBuilder[T, C]) AdvancedClusterAccessReconciler(p AdvancedProvider) *APIReconcilerBuilder[T, C] {
	b.reconciler.access = p

	return b
}

// AdditionalDataGenerators sets the functions that compute the additional data for an AdvancedProvider. The provider
// gets the data in the order of the functions. By default there are no such functions.
func (b *APIReconcilerBuilder[T, C]) AdditionalDataGenerators(
	g ...AdditionalDataGenerator[T],
) *APIReconcilerBuilder[T, C] {
	b.reconciler.generators = append([]AdditionalDataGenerator[T](nil), g...)

	return b
}

// EmptyObjectProvider sets the function that returns an empty object of the service.
func (b *APIReconcilerBuilder[T, C]) EmptyObjectProvider(emptyObj func() T) *APIReconcilerBuilder[T, C] {
	b.reconciler.newObject = emptyObj

	return b
}

// OnboardingCluster sets the connection to the onboarding cluster, which contains the objects.
func (b *APIReconcilerBuilder[T, C]) OnboardingCluster(c *clusters.Cluster) *APIReconcilerBuilder[T, C] {
	b.reconciler.onboarding = c

	return b
}

// PlatformCluster sets the connection to the platform cluster. The controller watches Secrets, ConfigMaps and
// configurations there.
func (b *APIReconcilerBuilder[T, C]) PlatformCluster(c *clusters.Cluster) *APIReconcilerBuilder[T, C] {
	b.reconciler.platform = c

	return b
}

// ProviderConfig sets the configuration that the controller uses at first. The controller uses this configuration until
// it receives another one over the channel of SetupWithManager. By default there is no such configuration.
func (b *APIReconcilerBuilder[T, C]) ProviderConfig(config C) *APIReconcilerBuilder[T, C] {
	b.initial, b.hasInitial = config, !isNil(config)

	return b
}

// EmptyConfigProvider sets the function that returns an empty configuration. If this function is set,
// SetupWithManagerNamed watches one configuration on the platform cluster: the configuration whose name is the name of
// the controller. If the function is not set, use a ConfigSource or a channel.
func (b *APIReconcilerBuilder[T, C]) EmptyConfigProvider(emptyConfig func() C) *APIReconcilerBuilder[T, C] {
	b.reconciler.newConfig = emptyConfig

	return b
}

// Reconciler sets the implementation of the service.
func (b *APIReconcilerBuilder[T, C]) Reconciler(dsr Reconciler[T, C]) *APIReconcilerBuilder[T, C] {
	b.reconciler.domain = dsr

	return b
}

// SecretNamespace sets the namespace of the platform cluster whose Secrets are watched. It has an effect only if the
// Reconciler is a SecretWatcher or a SecretMapper. By default no Secrets are watched. The role needs get, list and
// watch for Secrets in this namespace.
func (b *APIReconcilerBuilder[T, C]) SecretNamespace(ns string) *APIReconcilerBuilder[T, C] {
	b.reconciler.watches.secretNamespace = ns

	return b
}

// ConfigMapNamespace sets the namespace of the platform cluster whose ConfigMaps are watched. It has an effect only if
// the Reconciler is a ConfigMapWatcher. By default no ConfigMaps are watched. The role needs get, list and watch for
// ConfigMaps in this namespace.
func (b *APIReconcilerBuilder[T, C]) ConfigMapNamespace(ns string) *APIReconcilerBuilder[T, C] {
	b.reconciler.watches.configMapNamespace = ns

	return b
}

// WorkloadCluster sets whether each object has a workload cluster. The default is false.
func (b *APIReconcilerBuilder[T, C]) WorkloadCluster(wlCluster bool) *APIReconcilerBuilder[T, C] {
	b.workload = wlCluster

	return b
}

// Clusters adds the IDs of further clusters of each object. The access provider has to be an AccessDetailer or an
// AdvancedProvider that supports these IDs.
func (b *APIReconcilerBuilder[T, C]) Clusters(ids ...access.ID) *APIReconcilerBuilder[T, C] {
	b.extraClusters = append([]access.ID(nil), ids...)

	return b
}

// ConfigSource sets the source of configurations. By default the controller receives configurations over the channel of
// SetupWithManager.
func (b *APIReconcilerBuilder[T, C]) ConfigSource(s ConfigSource[T, C]) *APIReconcilerBuilder[T, C] {
	b.reconciler.configs = s

	return b
}

// Recorder sets the event recorder. By default no events are recorded.
func (b *APIReconcilerBuilder[T, C]) Recorder(r event.Recorder) *APIReconcilerBuilder[T, C] {
	b.reconciler.recorder = r

	return b
}

// Logger sets the logger. By default nothing is logged.
func (b *APIReconcilerBuilder[T, C]) Logger(l logging.Logger) *APIReconcilerBuilder[T, C] {
	b.reconciler.logger = l

	return b
}

// ControllerOptions sets the options of the controller, such as the number of workers. Its field
// Reconciler is ignored.
func (b *APIReconcilerBuilder[T, C]) ControllerOptions(o controller.Options) *APIReconcilerBuilder[T, C] {
	b.reconciler.watches.controller = o

	return b
}

// Predicates sets predicates that select which changes of an object cause a reconcile. By default a deletion is
// selected, and so are changes of the spec, the labels and the annotations. Changes of finalizers are selected if the
// finalizers belong to other controllers. Changes of the status are not selected.
func (b *APIReconcilerBuilder[T, C]) Predicates(p ...predicate.Predicate) *APIReconcilerBuilder[T, C] {
	b.reconciler.watches.predicates = append([]predicate.Predicate(nil), p...)

	return b
}

// OnClusterGone sets how a deletion continues if a cluster that contained the service does not exist any more. The
// value is DeletionBlock (the default) or DeletionOrphan.
func (b *APIReconcilerBuilder[T, C]) OnClusterGone(policy DeletionPolicy) *APIReconcilerBuilder[T, C] {
	b.reconciler.deletion.onClusterGone = policy

	return b
}

// WithoutConfig sets how a deletion continues if there is no configuration. The policy does not apply if this process
// has used a configuration for the object before. The value is DeletionBlock (the default), DeletionOrphan or
// DeletionDelete.
func (b *APIReconcilerBuilder[T, C]) WithoutConfig(policy DeletionPolicy) *APIReconcilerBuilder[T, C] {
	b.reconciler.deletion.withoutConfig = policy

	return b
}

// OperationAnnotation sets the key of the annotation by which a user pauses or requests reconciliation. The default is
// the constant OperationAnnotation.
func (b *APIReconcilerBuilder[T, C]) OperationAnnotation(key string) *APIReconcilerBuilder[T, C] {
	b.reconciler.annotation = key

	return b
}

// DeleteWhenPaused sets whether a deletion continues while the object is paused. The default is false.
func (b *APIReconcilerBuilder[T, C]) DeleteWhenPaused(deletes bool) *APIReconcilerBuilder[T, C] {
	b.reconciler.deletion.whenPaused = deletes

	return b
}

// Clock sets the clock and the random function. The random function returns numbers from 0 to 1, and determines the
// jitter of the poll interval. The jitter is at most a tenth of the poll interval. The defaults are the real clock and
// math/rand.
func (b *APIReconcilerBuilder[T, C]) Clock(c clock.PassiveClock, random func() float64) *APIReconcilerBuilder[T, C] {
	b.reconciler.clock, b.reconciler.random = c, random

	return b
}

// Build returns the reconciler. It returns an error if a required value is missing or a value is invalid. Later calls
// of the builder do not change the reconciler.
func (b *APIReconcilerBuilder[T, C]) Build() (*APIReconciler[T, C], error) {
	if err := b.validate(); err != nil {
		return nil, errors.Wrap(err, "cannot build the API reconciler")
	}
	r := b.reconciler
	r.states = records.New[objectState[C]](nil)
	r.channelConfig = &channelConfig[T, C]{}
	if b.hasInitial {
		r.channelConfig.config, r.channelConfig.loaded = b.initial, true
	}
	if r.configs == nil {
		r.configs = r.channelConfig
	}
	r.clusterIDs = []string{ClusterMCP}
	if b.workload {
		r.clusterIDs = append(r.clusterIDs, ClusterWorkload)
	}
	r.clusterIDs = append(r.clusterIDs, b.extraClusters...)

	return &r, nil
}

// MustBuild is like Build, but panics instead of returning an error. Use it in package main.
func (b *APIReconcilerBuilder[T, C]) MustBuild() *APIReconciler[T, C] {
	r, err := b.Build()
	if err != nil {
		panic(err)
	}

	return r
}

// validate returns an error if a required value is missing or a value is invalid.
func (b *APIReconcilerBuilder[T, C]) validate() error {
	r := &b.reconciler
	for _, required := range []struct {
		problem string
		bad     bool
	}{
		{"cluster access reconciler is missing", isNil(r.access) || isEmptyAdapter(r.access)},
		{"empty object provider is missing", r.newObject == nil},
		{"onboarding cluster " + clusterProblem(r.onboarding), clusterProblem(r.onboarding) != ""},
		{"platform cluster " + clusterProblem(r.platform), clusterProblem(r.platform) != ""},
		{"reconciler is missing", isNil(r.domain)},
		{"access provider does not know further clusters",
			len(b.extraClusters) > 0 && !supportsExtraClusters(r.access)},
		{
			"policy for missing clusters is unknown: " + string(r.deletion.onClusterGone),
			r.deletion.onClusterGone != DeletionBlock && r.deletion.onClusterGone != DeletionOrphan,
		},
		{
			"policy for a missing configuration is unknown: " + string(r.deletion.withoutConfig),
			!slices.Contains([]DeletionPolicy{DeletionBlock, DeletionOrphan, DeletionDelete}, r.deletion.withoutConfig),
		},
		{"operation annotation is empty", r.annotation == ""},
		{"config source is nil", r.configs != nil && isNil(r.configs)},
		{
			"data generator is nil",
			slices.ContainsFunc(r.generators, func(g AdditionalDataGenerator[T]) bool { return g == nil }),
		},
		{"recorder is nil", isNil(r.recorder)},
		{"logger is nil", isNil(r.logger)},
		{"clock or random source is nil", isNil(r.clock) || r.random == nil},
	} {
		if required.bad {
			return errors.New(required.problem)
		}
	}

	return nil
}

// clusterProblem returns the reason why a cluster cannot be used, or "" if it can be used.
func clusterProblem(c *clusters.Cluster) string {
	switch {
	case c == nil:
		return "is missing"
	case !c.HasClient():
		return "has no client: call InitializeClient"
	default:
		return ""
	}
}

// isEmptyAdapter reports whether a provider is an adapter without a Provider.
func isEmptyAdapter(p AdvancedProvider) bool {
	a, simple := asAdapter(p)

	return simple && isNil(a.Provider)
}

// jitter adds up to a tenth to the duration, so that the polls of objects do not synchronize.
func (r *APIReconciler[T, C]) jitter(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*r.random()/10)
}

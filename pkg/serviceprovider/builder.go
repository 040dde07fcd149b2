package serviceprovider

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/access"
)

// OperationAnnotation is the key of the annotation with which a user steers an object,
// unless the builder says another one. Its values are OperationIgnore and
// OperationReconcile.
const OperationAnnotation = "openmcp.cloud/operation"

// Values of the annotation.
const (
	// OperationIgnore lets an object be left alone, also when it is deleted.
	OperationIgnore = "ignore"

	// OperationReconcile lets an object be looked at now. It is taken off.
	OperationReconcile = "reconcile"
)

// An APIReconcilerBuilder makes an APIReconciler. Start with NewAPIReconcilerBuilder.
// Required are ClusterAccessReconciler or AdvancedClusterAccessReconciler,
// EmptyObjectProvider, OnboardingCluster, PlatformCluster and Reconciler.
type APIReconcilerBuilder[T API, C Config] struct{ made APIReconciler[T, C] }

// NewAPIReconcilerBuilder returns an empty builder.
func NewAPIReconcilerBuilder[T API, C Config]() *APIReconcilerBuilder[T, C] {
	return &APIReconcilerBuilder[T, C]{made: APIReconciler[T, C]{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: clock.RealClock{}, random: rand.Float64,
		annotation: OperationAnnotation, onGone: DeletionBlock, withoutConfig: DeletionBlock,
	}}
}

// ClusterAccessReconciler sets what gets access to the clusters of an object.
func (b *APIReconcilerBuilder[T, C]) ClusterAccessReconciler(car ClusterAccessProvider) *APIReconcilerBuilder[T, C] {
	b.made.access = nil
	if !isNil(car) {
		b.made.access = SimpleProviderAdapter{Provider: car}
	}

	return b
}

// AdvancedClusterAccessReconciler sets what gets access to the clusters of an object, in
// place of ClusterAccessReconciler, for one that needs to know more of the object.
func (b *APIReconcilerBuilder[T, C]) AdvancedClusterAccessReconciler(p AdvancedProvider) *APIReconcilerBuilder[T, C] {
	b.made.access = p

	return b
}

// AdditionalDataGenerators set what an AdvancedProvider is told of an object: the values
// that they return, in this order. By default there are none.
func (b *APIReconcilerBuilder[T, C]) AdditionalDataGenerators(g ...AdditionalDataGenerator[T]) *APIReconcilerBuilder[T, C] {
	b.made.generators = append([]AdditionalDataGenerator[T](nil), g...)

	return b
}

// EmptyObjectProvider sets what makes an empty object of the service.
func (b *APIReconcilerBuilder[T, C]) EmptyObjectProvider(emptyObj func() T) *APIReconcilerBuilder[T, C] {
	b.made.empty = emptyObj

	return b
}

// OnboardingCluster sets the cluster that the objects are on.
func (b *APIReconcilerBuilder[T, C]) OnboardingCluster(c *clusters.Cluster) *APIReconcilerBuilder[T, C] {
	b.made.onboarding = c

	return b
}

// PlatformCluster sets the cluster that Secrets and ConfigMaps are watched on.
func (b *APIReconcilerBuilder[T, C]) PlatformCluster(c *clusters.Cluster) *APIReconcilerBuilder[T, C] {
	b.made.platform = c

	return b
}

// ProviderConfig sets the configuration there is before any comes over the channel of
// SetupWithManager. By default there is none.
func (b *APIReconcilerBuilder[T, C]) ProviderConfig(config C) *APIReconcilerBuilder[T, C] {
	b.made.initial, b.made.hasInitial = config, !isNil(config)

	return b
}

// EmptyConfigProvider sets what makes an empty configuration: then SetupWithManagerNamed
// watches the one of the controller's name on the platform cluster. By default it does
// not, and there is a ConfigSource or a channel.
func (b *APIReconcilerBuilder[T, C]) EmptyConfigProvider(emptyConfig func() C) *APIReconcilerBuilder[T, C] {
	b.made.emptyConfig = emptyConfig

	return b
}

// Reconciler sets what knows the service.
func (b *APIReconcilerBuilder[T, C]) Reconciler(dsr Reconciler[T, C]) *APIReconcilerBuilder[T, C] {
	b.made.domain = dsr

	return b
}

// SecretNamespace sets the namespace of the platform cluster whose Secrets are watched,
// if the Reconciler is a SecretWatcher or SecretMapper. By default none are. The role
// needs get, list and watch for Secrets in that namespace.
func (b *APIReconcilerBuilder[T, C]) SecretNamespace(ns string) *APIReconcilerBuilder[T, C] {
	b.made.secretNamespace = ns

	return b
}

// ConfigMapNamespace sets the namespace of the platform cluster whose ConfigMaps are
// watched, if the Reconciler is a ConfigMapWatcher. By default none are. The role needs
// get, list and watch for ConfigMaps in that namespace.
func (b *APIReconcilerBuilder[T, C]) ConfigMapNamespace(ns string) *APIReconcilerBuilder[T, C] {
	b.made.configMapNamespace = ns

	return b
}

// WorkloadCluster says whether objects have a workload cluster. By default they do not.
func (b *APIReconcilerBuilder[T, C]) WorkloadCluster(wlCluster bool) *APIReconcilerBuilder[T, C] {
	b.made.workload = wlCluster

	return b
}

// Clusters sets the IDs of further clusters that an object has. The access provider has
// to be an AccessDetailer or an AdvancedProvider that knows them.
func (b *APIReconcilerBuilder[T, C]) Clusters(ids ...access.ID) *APIReconcilerBuilder[T, C] {
	b.made.others = append([]access.ID(nil), ids...)

	return b
}

// ConfigSource sets where the configuration of an object comes from. By default it
// comes over the channel of SetupWithManager.
func (b *APIReconcilerBuilder[T, C]) ConfigSource(s ConfigSource[T, C]) *APIReconcilerBuilder[T, C] {
	b.made.configs = s

	return b
}

// Recorder records what a user should know. By default nothing is recorded.
func (b *APIReconcilerBuilder[T, C]) Recorder(r event.Recorder) *APIReconcilerBuilder[T, C] {
	b.made.recorder = r

	return b
}

// Logger says where is told what happens. By default that is nowhere.
func (b *APIReconcilerBuilder[T, C]) Logger(l logging.Logger) *APIReconcilerBuilder[T, C] {
	b.made.logger = l

	return b
}

// ControllerOptions sets the options of the controller, such as the number of workers.
// Its Reconciler is not used.
func (b *APIReconcilerBuilder[T, C]) ControllerOptions(o controller.Options) *APIReconcilerBuilder[T, C] {
	b.made.options = o

	return b
}

// Predicates set which changes of an object let it be looked at. By default those are
// changes of its spec, its labels, its annotations and the finalizers of others, and
// its deletion: not of its status.
func (b *APIReconcilerBuilder[T, C]) Predicates(p ...predicate.Predicate) *APIReconcilerBuilder[T, C] {
	b.made.predicates = append([]predicate.Predicate(nil), p...)

	return b
}

// OnClusterGone sets how a deletion goes on when a cluster is gone that the service was
// in: DeletionBlock, the default, or DeletionOrphan.
func (b *APIReconcilerBuilder[T, C]) OnClusterGone(policy DeletionPolicy) *APIReconcilerBuilder[T, C] {
	b.made.onGone = policy

	return b
}

// WithoutConfig sets how a deletion goes on when there is no configuration, and none was
// known in this process before: DeletionBlock, the default, DeletionOrphan or
// DeletionDelete.
func (b *APIReconcilerBuilder[T, C]) WithoutConfig(policy DeletionPolicy) *APIReconcilerBuilder[T, C] {
	b.made.withoutConfig = policy

	return b
}

// OperationAnnotation sets the key of the annotation with which a user steers an object.
func (b *APIReconcilerBuilder[T, C]) OperationAnnotation(key string) *APIReconcilerBuilder[T, C] {
	b.made.annotation = key

	return b
}

// DeleteWhenPaused says whether a deletion goes on while an object is to be ignored. By
// default it does not.
func (b *APIReconcilerBuilder[T, C]) DeleteWhenPaused(deletes bool) *APIReconcilerBuilder[T, C] {
	b.made.deletePaused = deletes

	return b
}

// Clock sets what tells the time, and Random what spreads polls: by up to a tenth of the
// interval, times what it returns, from 0 to 1. By default those are the machine's.
func (b *APIReconcilerBuilder[T, C]) Clock(c clock.PassiveClock, random func() float64) *APIReconcilerBuilder[T, C] {
	b.made.clock, b.made.random = c, random

	return b
}

// Build returns the reconciler, or an error if something is missing or makes no sense.
// What is called afterwards does not change it.
func (b *APIReconcilerBuilder[T, C]) Build() (*APIReconciler[T, C], error) {
	if err := b.made.check(); err != nil {
		return nil, errors.Wrap(err, "cannot build the API reconciler")
	}
	r := b.made
	r.memory = newMemory[C]()
	r.sent = &remembered[T, C]{}
	if r.hasInitial {
		r.sent.config, r.sent.loaded = r.initial, true
	}
	if r.configs == nil {
		r.configs = r.sent
	}
	r.clusterIDs = []string{ClusterMCP}
	if r.workload {
		r.clusterIDs = append(r.clusterIDs, ClusterWorkload)
	}
	r.clusterIDs = append(r.clusterIDs, r.others...)

	return &r, nil
}

// MustBuild is Build for a main: it panics with the error.
func (b *APIReconcilerBuilder[T, C]) MustBuild() *APIReconciler[T, C] {
	r, err := b.Build()
	if err != nil {
		panic(err)
	}

	return r
}

// Check says what is missing or makes no sense.
func (r *APIReconciler[T, C]) check() error {
	for _, required := range []struct {
		what string
		bad  bool
	}{
		{"cluster access reconciler is missing", isNil(r.access) || isHollow(r.access)},
		{"empty object provider is missing", r.empty == nil},
		{"onboarding cluster " + unusable(r.onboarding), unusable(r.onboarding) != ""},
		{"platform cluster " + unusable(r.platform), unusable(r.platform) != ""},
		{"reconciler is missing", isNil(r.domain)},
		{"access provider does not know further clusters", len(r.others) > 0 && !knowsFurtherClusters(r.access)},
		{"policy for clusters that are gone is unknown: " + string(r.onGone), r.onGone != DeletionBlock && r.onGone != DeletionOrphan},
		{
			"policy for a missing configuration is unknown: " + string(r.withoutConfig),
			r.withoutConfig != DeletionBlock && r.withoutConfig != DeletionOrphan && r.withoutConfig != DeletionDelete,
		},
		{"operation annotation is empty", r.annotation == ""},
		{"config source is nil", r.configs != nil && isNil(r.configs)},
		{"data generator is nil", slices.ContainsFunc(r.generators, func(g AdditionalDataGenerator[T]) bool { return g == nil })},
		{"recorder is nil", isNil(r.recorder)},
		{"logger is nil", isNil(r.logger)},
		{"clock or what spreads polls is nil", isNil(r.clock) || r.random == nil},
	} {
		if required.bad {
			return errors.New(required.what)
		}
	}

	return nil
}

// Unusable says why a cluster cannot be used, nothing if it can.
func unusable(c *clusters.Cluster) string {
	switch {
	case c == nil:
		return "is missing"
	case !c.HasClient():
		return "has no client: call InitializeClient"
	default:
		return ""
	}
}

// IsHollow reports whether a provider is an adapter without anything behind it.
func isHollow(p AdvancedProvider) bool {
	a, simple := asAdapter(p)

	return simple && isNil(a.Provider)
}

// Jittered spreads polls that would otherwise come together for ever.
func (r *APIReconciler[T, C]) jittered(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*r.random()/10)
}

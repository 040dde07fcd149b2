package serviceprovider

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// buildError is an error of a builder, and the call that fixes it.
type buildError struct {
	says string
	mend func()
}

// checkBuildErrors expects the errors one after the other until the builder succeeds.
func checkBuildErrors(t *testing.T, all []buildError, build func() error) {
	t.Helper()
	for _, c := range all {
		if err := build(); err == nil || err.Error() != c.says {
			t.Errorf("want %q, got %v", c.says, err)
		}
		c.mend()
	}
	if err := build(); err != nil {
		t.Errorf("nothing is missing any more: %v", err)
	}
}

// TestBuildErrorsInOrder verifies that the first of several errors is returned, always in the same
// order.
func TestBuildErrorsInOrder(t *testing.T) {
	w := newFakeWorld(t)
	nowhere := clusters.New("nowhere")
	b := NewAPIReconcilerBuilder[*Foo, *FooConfig]().Clusters("a").OnClusterGone("Maybe").WithoutConfig(
		"Never").OperationAnnotation("").
		ConfigSource((*selectedConfig[*Foo, *FooConfig])(nil)).AdditionalDataGenerators(nil).Recorder(nil).Logger(nil).Clock(
		nil, nil)
	const of = "cannot build the API reconciler: "
	checkBuildErrors(t, []buildError{
		{of + "cluster access reconciler is missing", func() { b.ClusterAccessReconciler(w.gate) }},
		{of + "empty object provider is missing", func() { b.EmptyObjectProvider(newFoo) }},
		{of + "onboarding cluster is missing", func() { b.OnboardingCluster(nowhere) }},
		{of + "onboarding cluster has no client: call InitializeClient", func() { b.OnboardingCluster(w.home) }},
		{of + "platform cluster is missing", func() { b.PlatformCluster(nowhere) }},
		{of + "platform cluster has no client: call InitializeClient", func() { b.PlatformCluster(w.home) }},
		{of + "reconciler is missing", func() { b.Reconciler(w.domain) }},
		{of + "access provider does not know further clusters", func() { b.Clusters() }},
		{of + "policy for missing clusters is unknown: Maybe", func() { b.OnClusterGone(DeletionOrphan) }},
		{of + "policy for a missing configuration is unknown: Never", func() { b.WithoutConfig(DeletionDelete) }},
		{of + "operation annotation is empty", func() { b.OperationAnnotation("example.org/do") }},
		{of + "config source is nil", func() { b.ConfigSource(nil) }},
		{of + "data generator is nil", func() { b.AdditionalDataGenerators() }},
		{of + "recorder is nil", func() { b.Recorder(event.NewNopRecorder()) }},
		{of + "logger is nil", func() { b.Logger(logging.NewNopLogger()) }},
		{of + "clock or random source is nil", func() { b.Clock(clock.RealClock{}, nil) }},
		{of + "clock or random source is nil", func() { b.Clock(nil, func() float64 { return 0 }) }},
		{of + "clock or random source is nil", func() { b.Clock(clock.RealClock{}, func() float64 { return 0 }) }},
	}, func() error { _, err := b.Build(); return err })

	c := NewConfigReconcilerBuilder[*FooConfig]()
	const ofConfigs = "cannot build the config reconciler: "
	checkBuildErrors(t, []buildError{
		{ofConfigs + "empty object provider is missing", func() { c.EmptyObjectProvider(newFooConfig) }},
		{ofConfigs + "platform cluster is missing", func() { c.PlatformCluster(nowhere) }},
		{ofConfigs + "platform cluster has no client: call InitializeClient", func() { c.PlatformCluster(w.home) }},
		{ofConfigs + "update channel is missing", func() { c.UpdateChannel(make(chan ctrlevent.GenericEvent)) }},
		{ofConfigs + "provider name is missing", func() { c.ProviderName("foo") }},
	}, func() error { _, err := c.Build(); return err })
}

// TestBuilderCopiesLists verifies that later changes of lists do not change the reconciler, and the
// order of the cluster IDs.
func TestBuilderCopiesLists(t *testing.T) {
	w := newFakeWorld(t)
	ids := []string{"a", "b"}
	generators := []AdditionalDataGenerator[*Foo]{func(context.Context, *Foo) (any, error) { return "given", nil }}
	predicates := []predicate.Predicate{predicate.NewPredicateFuncs(nil)}
	b := w.builder().ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(&advancedProvider{
		SimpleProviderAdapter: SimpleProviderAdapter{Provider: w.gate},
	}).
		WorkloadCluster(true).Clusters(ids...).AdditionalDataGenerators(generators...).Predicates(predicates...)
	ids[0], generators[0], predicates[0] = "changed", nil, nil
	r := b.MustBuild()
	if diff := cmp.Diff([]string{"mcp", "workload", "a", "b"}, r.clusterIDs); diff != "" {
		t.Errorf("clusters: -want +got:\n%s", diff)
	}
	if r.generators[0] == nil || slices.Contains(r.watches.predicates, nil) {
		t.Error("what was given has changed")
	}
}

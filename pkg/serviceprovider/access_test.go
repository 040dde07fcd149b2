package serviceprovider

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// advancedProvider is an access provider that needs the region of an object.
type advancedProvider struct {
	SimpleProviderAdapter

	calls []string // with their additional data
}

func (r *advancedProvider) record(call string, data []any) {
	for _, d := range data {
		if s, ok := d.(string); ok {
			call += " " + s
		}
	}
	r.calls = append(r.calls, call)
}

func (r *advancedProvider) Access(ctx context.Context, req reconcile.Request, id string, data ...any) (Access, error) {
	r.record("Access "+id, data)

	return r.SimpleProviderAdapter.Access(ctx, req, ClusterMCP)
}

func (r *advancedProvider) AccessRequest(
	ctx context.Context, req reconcile.Request, id string, data ...any,
) (*clustersv1alpha1.AccessRequest, error) {
	r.record("AccessRequest "+id, data)

	return r.SimpleProviderAdapter.AccessRequest(ctx, req, ClusterMCP)
}

func (r *advancedProvider) Reconcile(
	ctx context.Context, req reconcile.Request, data ...any,
) (reconcile.Result, error) {
	r.record("Reconcile", data)

	return r.SimpleProviderAdapter.Reconcile(ctx, req)
}

func (r *advancedProvider) ReconcileDelete(
	ctx context.Context, req reconcile.Request, data ...any,
) (reconcile.Result, error) {
	r.record("ReconcileDelete", data)

	return r.SimpleProviderAdapter.ReconcileDelete(ctx, req)
}

// TestAdditionalData verifies that additional data reaches every call, also during a deletion, and
// that an error of its generator is an error of access.
func TestAdditionalData(t *testing.T) {
	w := newWorld(t)
	access := &advancedProvider{SimpleProviderAdapter: SimpleProviderAdapter{Provider: w.gate}}
	var failure error
	region := func(_ context.Context, f *Foo) (any, error) { return f.Spec.Size, failure }
	tier := func(context.Context, *Foo) (any, error) { return "gold", nil }
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.AdvancedClusterAccessReconciler(access).AdditionalDataGenerators(region, tier).Clusters("edge")
	}
	f := w.create("foo", func(f *Foo) { f.Spec.Size = "north" })
	w.steady(f)
	if _, ok := w.domain.given.Cluster("edge"); !ok {
		t.Error("want the further cluster")
	}
	w.Delete(f)
	failure = boom
	if _, err := w.pass(f); !errors.Is(err, boom) || w.Gone(f) {
		t.Errorf("want %v, got %v", boom, err)
	}
	w.expect(f, "Terminating", ReasonReconcileError)
	failure = nil
	w.steady(f)
	if diff := cmp.Diff([]string{
		"Reconcile north gold", "Access mcp north gold", "Access edge north gold",
		"AccessRequest mcp north gold", "AccessRequest edge north gold", "Reconcile north gold",
		"Access mcp north gold", "Access edge north gold", "ReconcileDelete north gold",
	}, access.calls); diff != "" || !w.Gone(f) {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// watchedProvider is an access provider with sources.
type watchedProvider struct{ *fakeProvider }

func (watchedProvider) AccessSources() []source.Source { return make([]source.Source, 2) }

// TestSimpleProviderAdapter verifies that the adapter has exactly the capabilities of its provider.
func TestSimpleProviderAdapter(t *testing.T) {
	w := newWorld(t)
	simple := SimpleProviderAdapter{Provider: w.gate}
	for _, id := range []string{ClusterMCP, ClusterWorkload} {
		a, err := simple.Access(t.Context(), reconcile.Request{}, id, "data")
		if err != nil || a.Cluster != w.home || a.SecretKey.Name != "."+id {
			t.Errorf("%s: got %+v, %v", id, a, err)
		}
	}
	if _, err := simple.Access(t.Context(), reconcile.Request{}, "other"); err == nil {
		t.Error("want an error for a cluster that it does not know")
	}
	if _, err := simple.AccessRequest(t.Context(), reconcile.Request{}, "other"); err == nil {
		t.Error("want an error for a cluster that it does not know")
	}
	w.gate.lookErr = boom
	if _, err := simple.Access(t.Context(), reconcile.Request{}, ClusterMCP); !errors.Is(err, boom) {
		t.Errorf("want %v, got %v", boom, err)
	}
	if n := len(simple.AccessSources()); n != 0 {
		t.Errorf("want no sources, got %d", n)
	}
	if n := len(SimpleProviderAdapter{Provider: watchedProvider{w.gate}}.AccessSources()); n != 2 {
		t.Errorf("want those of the provider, got %d", n)
	}
	further := []bool{
		supportsExtraClusters(simple), supportsExtraClusters(SimpleProviderAdapter{
			Provider: &requests{detailedProvider{fakeProvider: w.gate}},
		}), supportsExtraClusters(&advancedProvider{}),
	}
	if !slices.Equal(further, []bool{false, true, true}) {
		t.Errorf("further clusters: %v", further)
	}
}

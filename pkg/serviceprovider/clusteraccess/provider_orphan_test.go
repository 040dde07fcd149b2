package clusteraccess

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A hut is an object of a service.
type hut struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	status struct{ Conditions []metav1.Condition }
}

func (*hut) Finalizer() string                    { return "example.org/hut" }
func (h *hut) GetStatus() any                     { return h.status }
func (h *hut) GetConditions() *[]metav1.Condition { return &h.status.Conditions }
func (*hut) SetPhase(string)                      {}
func (*hut) SetObservedGeneration(int64)          {}

func (h *hut) DeepCopyObject() runtime.Object {
	out := *h
	out.ObjectMeta = *h.ObjectMeta.DeepCopy()
	out.status.Conditions = append([]metav1.Condition(nil), h.status.Conditions...)

	return &out
}

// A hutConfig is the configuration of the service.
type hutConfig struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*hutConfig) PollInterval() time.Duration      { return 0 }
func (c *hutConfig) DeepCopyObject() runtime.Object { return new(*c) }

// A builder is the service. It notes what it is called with.
type builder struct{ calls []string }

func (b *builder) CreateOrUpdate(context.Context, *hut, *hutConfig,
	serviceprovider.ClusterContext) (ctrl.Result, error) {
	b.calls = append(b.calls, "CreateOrUpdate")

	return ctrl.Result{}, nil
}

func (b *builder) Delete(context.Context, *hut, *hutConfig, serviceprovider.ClusterContext) (ctrl.Result, error) {
	b.calls = append(b.calls, "Delete")

	return ctrl.Result{}, nil
}

// TestNothingIsOrphanedByAPage: with OnClusterGone(Orphan), the deletion of an object calls
// the domain although a proxy answers for the cluster, and for the request.
func TestNothingIsOrphanedByAPage(t *testing.T) {
	b := newBoard(t)
	existing := func(reconcile.Request) client.ObjectKey { return clusterName }
	var err error
	if b.r, err = New(b.r.platform, "Garden", []Registration{{
		ID: serviceprovider.ClusterMCP, ExistingCluster: existing, Token: token, Scheme: scheme,
	}}, WithClock(b.clock)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.r.Close)
	b.admitted()

	stored := &hut{ObjectMeta: metav1.ObjectMeta{Namespace: b.request.Namespace, Name: b.request.Name, UID: "1"}}
	api := test.NewMockClient()
	api.MockGet = func(_ context.Context, _ client.ObjectKey, o client.Object) error {
		*o.(*hut) = *stored.DeepCopyObject().(*hut)

		return nil
	}
	keep := func(o client.Object) { stored = o.DeepCopyObject().(*hut) }
	api.MockPatch = func(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
		keep(o)
		return nil
	}
	api.MockStatusPatch = func(_ context.Context, o client.Object, _ client.Patch,
		_ ...client.SubResourcePatchOption) error {
		keep(o)

		return nil
	}
	service := &builder{}
	r, err := serviceprovider.NewAPIReconcilerBuilder[*hut, *hutConfig]().
		EmptyObjectProvider(func() *hut { return &hut{} }).
		OnboardingCluster(clusters.NewTestClusterFromClient("onboarding",
			api)).PlatformCluster(b.r.platform).ClusterAccessReconciler(b.r).
		ProviderConfig(&hutConfig{}).Reconciler(service).OnClusterGone(serviceprovider.DeletionOrphan).Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), b.request); err != nil {
		t.Fatal(err)
	}
	stored.DeletionTimestamp = new(metav1.Now())
	b.says(errPage, nil)
	if _, err := r.Reconcile(t.Context(), b.request); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, service.calls); diff != "" {
		t.Errorf("calls of the domain: -want +got:\n%s", diff)
	}
}

package trials

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

// A Landscape is an object of a service.
type Landscape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status LandscapeStatus `json:"status,omitempty"`
}

// A LandscapeStatus is the status of a Landscape.
type LandscapeStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Finalizer returns the finalizer of the service.
func (l *Landscape) Finalizer() string { return "landscape.example.org/service" }

// GetStatus returns the status.
func (l *Landscape) GetStatus() any { return l.Status }

// GetConditions returns the conditions.
func (l *Landscape) GetConditions() *[]metav1.Condition { return &l.Status.Conditions }

// SetPhase sets the phase.
func (l *Landscape) SetPhase(p string) { l.Status.Phase = p }

// SetObservedGeneration sets the observed generation.
func (l *Landscape) SetObservedGeneration(g int64) { l.Status.ObservedGeneration = g }

// DeepCopyObject returns a copy.
func (l *Landscape) DeepCopyObject() runtime.Object {
	out := *l
	out.ObjectMeta = *l.ObjectMeta.DeepCopy()
	out.Status.Conditions = slices.Clone(l.Status.Conditions)

	return &out
}

// A Plan is the configuration of the service.
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// PollInterval returns the poll interval.
func (p *Plan) PollInterval() time.Duration { return time.Minute }

// DeepCopyObject returns a copy.
func (p *Plan) DeepCopyObject() runtime.Object {
	out := *p
	out.ObjectMeta = *p.ObjectMeta.DeepCopy()

	return &out
}

// A journal records the calls of a service and of the access to its clusters.
type journal struct {
	home   *clusters.Cluster
	calls  []string
	looked error // the answer to one read of the AccessRequest
}

func (j *journal) CreateOrUpdate(_ context.Context, l *Landscape, _ *Plan,
	_ serviceprovider.ClusterContext) (ctrl.Result, error) {
	j.calls = append(j.calls, "CreateOrUpdate")
	serviceprovider.StatusReady(l)

	return ctrl.Result{}, nil
}

func (j *journal) Delete(_ context.Context, l *Landscape, _ *Plan,
	_ serviceprovider.ClusterContext) (ctrl.Result, error) {
	j.calls = append(j.calls, "Delete")
	serviceprovider.StatusTerminating(l)

	return ctrl.Result{}, nil
}

func (j *journal) MCPCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return j.home, nil
}

func (j *journal) WorkloadCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return j.home, nil
}

func (j *journal) MCPAccessRequest(context.Context, reconcile.Request) (*clustersv1alpha1.AccessRequest, error) {
	if err := j.looked; err != nil {
		j.looked = nil

		return nil, err
	}
	ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "east"}}
	ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: "east"}

	return ar, nil
}

func (j *journal) WorkloadAccessRequest(ctx context.Context,
	r reconcile.Request) (*clustersv1alpha1.AccessRequest, error) {
	return j.MCPAccessRequest(ctx, r)
}

func (j *journal) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	j.calls = append(j.calls, "Reconcile")

	return reconcile.Result{}, nil
}

func (j *journal) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	j.calls = append(j.calls, "ReconcileDelete")

	return reconcile.Result{}, nil
}

// TestD3AccessRequest answers one read of the AccessRequest of a deleted object with a 404 that
// is not about it. The service cleans up before the access is returned and the object is
// removed.
func TestD3AccessRequest(t *testing.T) {
	scheme := runtime.NewScheme()
	group := schema.GroupVersion{Group: "landscape.example.org", Version: "v1"}
	scheme.AddKnownTypes(group, &Landscape{}, &Plan{})
	metav1.AddToGroupVersion(scheme, group)
	l := &Landscape{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "garden", UID: "uid-1", Generation: 1}}
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithObjects(l).WithStatusSubresource(&Landscape{}).Build()
	j := &journal{home: clusters.NewTestClusterFromClient("home", api)}
	r, err := serviceprovider.NewAPIReconcilerBuilder[*Landscape, *Plan]().
		EmptyObjectProvider(func() *Landscape { return &Landscape{} }).
		OnboardingCluster(j.home).PlatformCluster(j.home).ClusterAccessReconciler(j).Reconciler(j).
		ProviderConfig(&Plan{}).Build()
	if err != nil {
		t.Fatal(err)
	}
	passes := func() {
		for range 4 {
			// An error requeues the object.
			_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(l)})
		}
	}
	passes()
	if err := api.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(j.calls, "CreateOrUpdate") {
		t.Fatalf("the service was not called: %v", j.calls)
	}
	j.calls, j.looked = nil, generic404(schema.GroupResource{Group: "clusters.openmcp.cloud",
		Resource: "accessrequests"}, "east")
	passes()
	err = api.Get(t.Context(), client.ObjectKeyFromObject(l), &Landscape{})
	if !kerrors.IsNotFound(err) {
		t.Errorf("the deleted object is there still: %v, after %v", err, j.calls)
	}
	cleans, gives := slices.Index(j.calls, "Delete"), slices.Index(j.calls, "ReconcileDelete")
	if cleans < 0 || gives >= 0 && gives < cleans {
		t.Errorf("the service did not clean up before its access was given back: %v", j.calls)
	}
}

// TestD3ClusterGone answers a read of a Cluster with a 404 that is not about it. The cluster is
// not taken for gone, and a healthy object keeps its access.
func TestD3ClusterGone(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clustersv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	east := client.ObjectKey{Namespace: "platform", Name: "east"}
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: east.Namespace,
			Name: east.Name}}).Build()
	answer := kerrors.NewGenericServerResponse(http.StatusNotFound, "get",
		schema.GroupResource{Group: "clusters.openmcp.cloud", Resource: "clusters"},
		east.Name, "404 page not found", 0, true)
	platform := clusters.NewTestClusterFromClient("platform", interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*clustersv1alpha1.Cluster); ok {
				return answer
			}

			return c.Get(ctx, key, o, opts...)
		},
	}))
	r, err := clusteraccess.New(platform, "Garden", []clusteraccess.Registration{{
		ID:              serviceprovider.ClusterWorkload,
		ExistingCluster: func(reconcile.Request) client.ObjectKey { return east },
		Token: &clustersv1alpha1.TokenConfig{RoleRefs: []clustersv1alpha1.RoleRef{{Kind: "ClusterRole",
			Name: "view"}}},
		Namespace: func(reconcile.Request) string { return "platform" },
		Scheme:    scheme,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "default",
		Name: "garden"}})
	if err == nil || errors.Is(err, serviceprovider.ErrClusterGone) {
		t.Errorf("want an error that does not say that the cluster is gone, got: %v", err)
	}
}

package serviceprovider_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
)

// Backup is the object of the service.
type Backup struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Status struct {
		Phase      string             `json:"phase,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
}

func (b *Backup) Finalizer() string                  { return "backup.example.org/service" }
func (b *Backup) GetStatus() any                     { return b.Status }
func (b *Backup) GetConditions() *[]metav1.Condition { return &b.Status.Conditions }
func (b *Backup) SetPhase(p string)                  { b.Status.Phase = p }
func (b *Backup) SetObservedGeneration(int64)        {}
func (b *Backup) DeepCopyObject() runtime.Object {
	out := *b
	out.Status.Conditions = append([]metav1.Condition(nil), b.Status.Conditions...)

	return &out
}

// BackupConfig is the configuration of the service.
type BackupConfig struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*BackupConfig) PollInterval() time.Duration      { return time.Hour }
func (c *BackupConfig) DeepCopyObject() runtime.Object { return new(*c) }

// backups implements the service.
type backups struct{}

func (backups) CreateOrUpdate(
	_ context.Context, b *Backup, _ *BackupConfig, cc serviceprovider.ClusterContext,
) (ctrl.Result, error) {
	fmt.Println("install backups in", cc.MCPCluster.ID(), "for", b.Name)
	serviceprovider.StatusReady(b)

	return ctrl.Result{}, nil
}

func (backups) Delete(context.Context, *Backup, *BackupConfig, serviceprovider.ClusterContext) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// sharedCluster is an access provider with one cluster for all objects. Package clusteraccess has
// providers that request access.
type sharedCluster struct{ *clusters.Cluster }

func (o sharedCluster) MCPCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return o.Cluster, nil
}

func (o sharedCluster) WorkloadCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return o.Cluster, nil
}

func (sharedCluster) MCPAccessRequest(context.Context, reconcile.Request) (*clustersv1alpha1.AccessRequest, error) {
	return &clustersv1alpha1.AccessRequest{}, nil
}

func (sharedCluster) WorkloadAccessRequest(
	context.Context, reconcile.Request,
) (*clustersv1alpha1.AccessRequest, error) {
	return &clustersv1alpha1.AccessRequest{}, nil
}

func (sharedCluster) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

func (sharedCluster) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

func Example() {
	api := test.NewMockClient()
	api.MockGet = func(_ context.Context, key client.ObjectKey, o client.Object) error {
		o.SetName(key.Name)

		return nil
	}
	onboarding := clusters.NewTestClusterFromClient("onboarding", api)
	r, err := serviceprovider.NewAPIReconcilerBuilder[*Backup, *BackupConfig]().
		EmptyObjectProvider(func() *Backup { return &Backup{} }).
		OnboardingCluster(onboarding).
		PlatformCluster(clusters.NewTestClusterFromClient("platform", api)).
		ClusterAccessReconciler(sharedCluster{clusters.NewTestClusterFromClient("the control plane", api)}).
		ProviderConfig(&BackupConfig{}).
		Reconciler(backups{}).
		Build()
	if err != nil {
		fmt.Println(err)

		return
	}
	result, err := r.Reconcile(context.Background(),
		reconcile.Request{NamespacedName: client.ObjectKey{Name: "nightly"}})
	fmt.Println(result.RequeueAfter >= time.Hour, err)
	// Output:
	// install backups in the control plane for nightly
	// true <nil>
}

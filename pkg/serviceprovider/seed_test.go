package serviceprovider_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	sp "github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// The names and signatures of the earlier runtime. If this file does not compile, existing services do
// not either.

type (
	apiBuilder    = sp.APIReconcilerBuilder[*Backup, *BackupConfig]
	configBuilder = sp.ConfigReconcilerBuilder[*BackupConfig]
)

var (
	_ func(
		sp.API, string, string,
	) = sp.StatusProgressing
	_ func(sp.API) = sp.StatusReady
	_ func(
		sp.API,
	) = sp.StatusTerminating
	_ func() *apiBuilder = sp.NewAPIReconcilerBuilder[*Backup, *BackupConfig]
	_ func(
		*apiBuilder, sp.ClusterAccessProvider,
	) *apiBuilder = (*apiBuilder).ClusterAccessReconciler
	_ func(
		*apiBuilder, func() *Backup,
	) *apiBuilder = (*apiBuilder).EmptyObjectProvider
	_ func(
		*apiBuilder,
	) *sp.APIReconciler[*Backup, *BackupConfig] = (*apiBuilder).MustBuild
	_ func(
		*apiBuilder, *clusters.Cluster,
	) *apiBuilder = (*apiBuilder).OnboardingCluster
	_ func(
		*apiBuilder, *clusters.Cluster,
	) *apiBuilder = (*apiBuilder).PlatformCluster
	_ func(
		*apiBuilder, *BackupConfig,
	) *apiBuilder = (*apiBuilder).ProviderConfig
	_ func(
		*apiBuilder, sp.Reconciler[*Backup, *BackupConfig],
	) *apiBuilder = (*apiBuilder).Reconciler
	_ func(
		*apiBuilder, string,
	) *apiBuilder = (*apiBuilder).SecretNamespace
	_ func(
		*apiBuilder, bool,
	) *apiBuilder = (*apiBuilder).WorkloadCluster
	_ func(
		*sp.APIReconciler[*Backup, *BackupConfig], context.Context, ctrl.Request,
	) (ctrl.Result, error) = (*sp.APIReconciler[*Backup, *BackupConfig]).Reconcile
	_ func(
		*sp.APIReconciler[*Backup, *BackupConfig], ctrl.Manager, string, chan event.GenericEvent,
	) error = (*sp.APIReconciler[*Backup, *BackupConfig]).SetupWithManager
	_ func() *configBuilder = sp.NewConfigReconcilerBuilder[*BackupConfig]
	_ func(
		*configBuilder, func() *BackupConfig,
	) *configBuilder = (*configBuilder).EmptyObjectProvider
	_ func(
		*configBuilder,
	) *sp.ConfigReconciler[*BackupConfig] = (*configBuilder).MustBuild
	_ func(
		*configBuilder, *clusters.Cluster,
	) *configBuilder = (*configBuilder).PlatformCluster
	_ func(
		*configBuilder, string,
	) *configBuilder = (*configBuilder).ProviderName
	_ func(
		*configBuilder, chan event.GenericEvent,
	) *configBuilder = (*configBuilder).UpdateChannel
	_ func(
		*sp.ConfigReconciler[*BackupConfig], context.Context, ctrl.Request,
	) (ctrl.Result, error) = (*sp.ConfigReconciler[*BackupConfig]).Reconcile
	_ func(
		*sp.ConfigReconciler[*BackupConfig], ctrl.Manager,
	) error = (*sp.ConfigReconciler[*BackupConfig]).SetupWithManager
	_ interface {
		client.Object
		sp.Status
		Finalizer() string
	} = sp.API(nil)
	_ interface {
		client.Object
		PollInterval() time.Duration
	} = sp.Config(nil)
	_ interface {
		IsReferencedSecret(context.Context, *corev1.Secret, *BackupConfig) bool
	} = sp.SecretWatcher[*BackupConfig](nil)
	_ sp.API = interface {
		client.Object
		sp.Status
		Finalizer() string
	}(nil)
	_ sp.SecretWatcher[*BackupConfig] = interface {
		IsReferencedSecret(context.Context, *corev1.Secret, *BackupConfig) bool
	}(nil)
)

type seedStatus interface {
	GetStatus() any
	GetConditions() *[]metav1.Condition
	SetPhase(string)
	SetObservedGeneration(int64)
}

type seedReconciler interface {
	CreateOrUpdate(ctx context.Context, obj *Backup, config *BackupConfig,
		clusters sp.ClusterContext) (ctrl.Result, error)
	Delete(ctx context.Context, obj *Backup, config *BackupConfig, clusters sp.ClusterContext) (ctrl.Result, error)
}

type seedAccess interface {
	MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)
	MCPAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)
	WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)
	WorkloadAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)
	Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error)
	ReconcileDelete(ctx context.Context, request reconcile.Request) (reconcile.Result, error)
}

// Assignable in both directions: an additional method would break implementations.
var (
	_ seedStatus                            = sp.Status(nil)
	_ sp.Status                             = seedStatus(nil)
	_ seedReconciler                        = sp.Reconciler[*Backup, *BackupConfig](nil)
	_ sp.Reconciler[*Backup, *BackupConfig] = seedReconciler(nil)
	_ seedAccess                            = sp.ClusterAccessProvider(nil)
	_ sp.ClusterAccessProvider              = seedAccess(nil)
)

func TestSeedConstants(t *testing.T) {
	for got, want := range map[string]string{
		sp.ServiceProviderConditionReady: "Ready", sp.StatusPhaseProgressing: "Progressing",
		sp.StatusPhaseTerminating: "Terminating",
	} {
		if got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	c := sp.ClusterContext{
		MCPCluster: &clusters.Cluster{}, MCPAccessSecretKey: client.ObjectKey{}, WorkloadCluster: &clusters.Cluster{},
		WorkloadAccessSecretKey: client.ObjectKey{},
	}
	if sp.StatusPhaseReady != "Ready" || c.MCPCluster == nil {
		t.Error("the phase of a service that can be used has another name")
	}
}

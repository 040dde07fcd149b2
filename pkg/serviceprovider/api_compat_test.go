package serviceprovider_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	sp "github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/access"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

// The names and signatures that came after those of seed_test.go. If this file does not compile,
// existing services do not either.

type configSource = sp.ConfigSource[*Backup, *BackupConfig]

var (
	_ func(*apiBuilder) (*sp.APIReconciler[*Backup, *BackupConfig], error) = (*apiBuilder).Build
	_ func(
		*apiBuilder, configSource,
	) *apiBuilder = (*apiBuilder).ConfigSource
	_ func(*apiBuilder, event.Recorder) *apiBuilder = (*apiBuilder).Recorder
	_ func(*apiBuilder, logging.Logger) *apiBuilder = (*apiBuilder).Logger
	_ func(
		*apiBuilder, controller.Options,
	) *apiBuilder = (*apiBuilder).ControllerOptions
	_ func(
		*apiBuilder, ...predicate.Predicate,
	) *apiBuilder = (*apiBuilder).Predicates
	_ func(*apiBuilder, ...access.ID) *apiBuilder = (*apiBuilder).Clusters
	_ func(
		*apiBuilder, sp.DeletionPolicy,
	) *apiBuilder = (*apiBuilder).OnClusterGone
	_ func(
		*apiBuilder, sp.DeletionPolicy,
	) *apiBuilder = (*apiBuilder).WithoutConfig
	_ func(
		*apiBuilder, string,
	) *apiBuilder = (*apiBuilder).OperationAnnotation
	_ func(
		*apiBuilder, bool,
	) *apiBuilder = (*apiBuilder).DeleteWhenPaused
	_ func(
		*apiBuilder, string,
	) *apiBuilder = (*apiBuilder).ConfigMapNamespace
	_ func(
		*apiBuilder, func() *BackupConfig,
	) *apiBuilder = (*apiBuilder).EmptyConfigProvider
	_ func(
		*apiBuilder, sp.AdvancedProvider,
	) *apiBuilder = (*apiBuilder).AdvancedClusterAccessReconciler
	_ func(
		*apiBuilder, ...sp.AdditionalDataGenerator[*Backup],
	) *apiBuilder = (*apiBuilder).AdditionalDataGenerators
	_ func(
		*sp.APIReconciler[*Backup, *BackupConfig], ctrl.Manager, string,
	) error = (*sp.APIReconciler[*Backup, *BackupConfig]).SetupWithManagerNamed
	_ func(*configBuilder) (*sp.ConfigReconciler[*BackupConfig], error) = (*configBuilder).Build
	_ func(
		*BackupConfig,
	) configSource = sp.StaticConfig[*Backup, *BackupConfig]
	_ func(
		*clusters.Cluster, string, func() *BackupConfig,
	) configSource = sp.NamedConfig[*Backup, *BackupConfig]
	_ func(
		*clusters.Cluster, func(*Backup, []*BackupConfig) (*BackupConfig, error),
	) configSource = sp.SelectedConfig[*Backup, *BackupConfig]
	_ func(sp.API, string, string)                              = sp.StatusTerminatingWithReason
	_ func(sp.ClusterContext, string) (*clusters.Cluster, bool) = sp.ClusterContext.Cluster
	_ func(sp.ClusterContext, string) clusters.Ref              = sp.ClusterContext.Ref
	_ func(sp.ClusterContext, string) clusters.Revision         = sp.ClusterContext.Revision
	_ sp.AdvancedProvider                                       = sp.SimpleProviderAdapter{
		Provider: sp.ClusterAccessProvider(
			nil),
	}
	_ sp.AdvancedProvider            = clusteraccess.AdvancedProvider(nil)
	_ clusteraccess.AdvancedProvider = clusteraccess.SimpleProviderAdapter{}
	_ sp.ClusterAccessProvider       = clusteraccess.Provider(nil)
	_ clusteraccess.ClusterContext   = sp.ClusterContext{}
	_ sp.ClusterAccessProvider       = &clusteraccess.Requester{}
	_ sp.AccessWatcher               = &clusteraccess.Requester{}
	_ sp.ClusterAccessProvider       = &clusteraccess.Static{}
	_                                = []string{
		sp.ConditionClusterAccessReady, sp.ConditionDeletionBlocked, sp.OperationIgnore, sp.OperationReconcile,
	}
)

// Assignable in both directions, as in seed_test.go.
type (
	laterSource interface {
		ConfigFor(ctx context.Context, obj *Backup) (*BackupConfig, error)
		Source(
			enqueue func(ctx context.Context, c *BackupConfig) []reconcile.Request,
		) source.TypedSyncingSource[reconcile.Request]
	}
	laterConfigMaps interface {
		IsReferencedConfigMap(ctx context.Context, configMap *corev1.ConfigMap, pc *BackupConfig) bool
	}
	laterSecrets interface {
		ObjectsForSecret(ctx context.Context, secret *corev1.Secret, pc *BackupConfig) []reconcile.Request
	}
	laterDefaulter interface {
		Default(ctx context.Context, obj *Backup) error
	}
)

var (
	_ laterSource                        = configSource(nil)
	_ configSource                       = laterSource(nil)
	_ laterConfigMaps                    = sp.ConfigMapWatcher[*BackupConfig](nil)
	_ sp.ConfigMapWatcher[*BackupConfig] = laterConfigMaps(nil)
	_ laterSecrets                       = sp.SecretMapper[*BackupConfig](nil)
	_ sp.SecretMapper[*BackupConfig]     = laterSecrets(nil)
	_ laterDefaulter                     = sp.Defaulter[*Backup](nil)
	_ sp.Defaulter[*Backup]              = laterDefaulter(nil)
)

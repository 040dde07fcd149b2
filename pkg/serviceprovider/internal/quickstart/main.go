package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

// name of the controller, and of its configuration on the platform.
const name = "backup"

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clustersv1alpha1.AddToScheme, addToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}

	platform, onboarding, err := connect(ctx, scheme)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(onboarding.RESTConfig(), ctrl.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := manager.Add(platform.Cluster()); err != nil {
		return err
	}

	// It requests access to the control plane of each object, and a workload cluster.
	access, err := clusteraccess.New(platform, name, []clusteraccess.Registration{
		clusteraccess.MCP(scheme, may("get;list;watch;create;patch;delete", []string{""}, "configmaps")),
		clusteraccess.Workload(scheme, may("*", []string{"apps"}, "deployments")),
	})
	if err != nil {
		return err
	}
	defer access.Close()

	r, err := serviceprovider.NewAPIReconcilerBuilder[*Backup, *BackupConfig]().
		EmptyObjectProvider(func() *Backup { return &Backup{} }).
		EmptyConfigProvider(func() *BackupConfig { return &BackupConfig{} }).
		OnboardingCluster(onboarding).
		PlatformCluster(platform).
		ClusterAccessReconciler(access).
		WorkloadCluster(true).
		Reconciler(backups{}).
		Recorder(event.NewRecorder(manager.GetEventRecorder(name))).
		Logger(logging.NewLogrLogger(manager.GetLogger())).
		Build()
	if err != nil {
		return err
	}
	if err := r.SetupWithManagerNamed(manager, name); err != nil {
		return err
	}

	return manager.Start(ctx)
}

// connect returns the platform, on which the program runs, and the onboarding cluster, to which
// the platform gives it access.
func connect(ctx context.Context, scheme *runtime.Scheme) (platform, onboarding *clusters.Cluster, err error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, err
	}
	platform = clusters.New("platform").WithRESTConfig(config)
	if err := platform.InitializeClient(scheme); err != nil {
		return nil, nil, err
	}
	onboarding, err = clusteraccess.WaitFor(ctx, platform, name, os.Getenv("POD_NAMESPACE"),
		clusteraccess.Onboarding("onboarding-run",
			clusteraccess.Registration{Scheme: scheme, Token: may("*", []string{group.Group, "events.k8s.io"}, "*")}))

	return platform, onboarding, err
}

// may returns the permissions of a token.
func may(verbs string, groups []string, resources ...string) *clustersv1alpha1.TokenConfig {
	rule := rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: strings.Split(verbs, ";")}

	return &clustersv1alpha1.TokenConfig{
		Permissions: []clustersv1alpha1.PermissionsRequest{{Rules: []rbacv1.PolicyRule{rule}}},
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	moorage "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

const (
	home             = "tenants"          // the namespace of the objects on the onboarding cluster
	providerName     = "messaging"        // the name of the configuration, and part of the names of requests
	programNamespace = "messaging-system" // the namespace of the provider and its own requests on the platform
)

// A walk starts the clusters, NATS, the platform and the provider, which has only its own role, and runs the steps. The
// checks of a step ask the API servers and NATS, not the provider.
type walk struct {
	out      io.Writer
	once     bool // it ends after the steps
	patience time.Duration
	before   func(step int)                  // called before each step; for tests
	down     func(ctx context.Context) error // called while the provider is stopped; for tests
	configs  func(platform *clusters.Cluster) configSource
	short    time.Duration // the lifetime of the tokens for amber

	scheme                              *runtime.Scheme
	platform, onboarding, mcp, workload *cluster
	hub                                 *hub
	granter                             *clusterstest.Granter
	denied                              sync.Map // namespaces of requests
	last                                []byte   // the credentials that a stream was created with

	granting, provider *running
}

type configSource = serviceprovider.ConfigSource[*Account, *Messaging]

// named returns the source of the configuration that the provider uses.
func named(platform *clusters.Cluster) configSource {
	return serviceprovider.NamedConfig[*Account](platform, providerName, func() *Messaging { return &Messaging{} })
}

// A cluster is an API server and a client with every permission.
type cluster struct {
	*devcluster.Cluster
	client.Client

	config *rest.Config
}

func newTour(out io.Writer) *walk {
	return &walk{
		out: out, patience: patience, before: func(int) {}, down: func(context.Context) error { return nil },
		configs: named, short: 30 * time.Second, scheme: runtime.NewScheme(),
	}
}

// run returns an error if a step did not hold.
func (t *walk) run(ctx context.Context) error {
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clustersv1alpha1.AddToScheme, addToScheme,
	} {
		if err := add(t.scheme); err != nil {
			return err
		}
	}
	guide := &tour.Guide{
		Out: t.out, Start: t.begin, Once: t.once, Commands: t.commands,
		Ended: func() <-chan struct{} { return t.provider.done },
	}

	return errors.Join(guide.Run(ctx), t.end())
}

// begin starts the clusters, NATS, the platform and the provider.
func (t *walk) begin(ctx context.Context) (_ *tour.Tour, err error) {
	fmt.Fprintln(t.out, "Starting four API servers (platform, onboarding, a control plane, a workload cluster) and NATS.")
	for _, c := range t.clusters() {
		if *c, err = t.newCluster(ctx); err != nil {
			return nil, err
		}
	}
	if t.hub, err = newHub(); err != nil {
		return nil, err
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	shown := &tour.Tour{Out: t.out, Steps: t.steps(), Before: t.before,
		Patience: func(string) time.Duration { return t.patience }}

	return shown, t.start(ctx)
}

// end stops everything that was started.
func (t *walk) end() error {
	errs := []error{t.halt()}
	if t.hub != nil {
		t.hub.stop()
	}
	for _, c := range t.clusters() {
		if *c != nil {
			errs = append(errs, (*c).Stop())
		}
	}

	return errors.Join(errs...)
}

func (t *walk) clusters() []**cluster {
	return []**cluster{&t.platform, &t.onboarding, &t.mcp, &t.workload}
}

// commands returns commands that show the objects after the tour.
func (t *walk) commands() []string {
	return []string{
		"export KUBECONFIG=" + t.onboarding.Kubeconfig + "   # the onboarding cluster",
		"kubectl -n " + home + " get accounts",
		"kubectl -n " + home + " annotate account amber " + serviceprovider.OperationAnnotation + "=" +
			serviceprovider.OperationIgnore + "   # a pause",
		"kubectl --kubeconfig " + t.platform.Kubeconfig + " get accessrequests,clusterrequests -A",
		"kubectl --kubeconfig " + t.mcp.Kubeconfig + " get secrets",
		"kubectl --kubeconfig " + t.workload.Kubeconfig + " get deployments   # nothing runs there: the cluster has no nodes",
	}
}

func (t *walk) newCluster(ctx context.Context) (*cluster, error) {
	c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: t.out})
	if err != nil {
		return nil, err
	}
	config, err := c.RESTConfig()
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	api, err := client.New(config, client.Options{Scheme: t.scheme})
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}

	return &cluster{Cluster: c, Client: api, config: config}, nil
}

// prepare installs the kinds, and the configuration.
func (t *walk) prepare(ctx context.Context) error {
	if err := clusterstest.InstallCRDs(ctx, t.platform, clustersv1alpha1.CRDs()); err != nil {
		return err
	}
	config := &Messaging{ // until a step changes it
		ObjectMeta: metav1.ObjectMeta{Name: providerName}, Connections: 5, Poll: metav1.Duration{Duration: time.Hour},
	}
	for _, create := range []struct {
		in *cluster
		o  client.Object
	}{
		{t.platform, definition("Messaging", "messagings", apiextensionsv1.ClusterScoped)},
		{t.onboarding, definition("Account", "accounts", apiextensionsv1.NamespaceScoped, columns...)},
		{t.platform, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: keepNamespace}}},
		{t.onboarding, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}},
		{t.platform, config},
	} {
		// The API server serves a kind shortly after its definition is created.
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true,
			func(ctx context.Context) (bool, error) {
				return create.in.Create(ctx, create.o) == nil, nil
			})
		if err != nil {
			return fmt.Errorf("cannot create %T %s: %w", create.o, create.o.GetName(), err)
		}
	}

	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true,
		func(ctx context.Context) (bool, error) {
			return t.onboarding.List(ctx, &AccountList{}) == nil, nil
		})
}

// start runs the platform's granter and the provider.
func (t *walk) start(ctx context.Context) error {
	t.granter = &clusterstest.Granter{
		ClusterFor: func(request client.ObjectKey) (*rest.Config, bool) {
			switch {
			case request.Namespace == programNamespace:
				return t.onboarding.config, true
			case strings.HasSuffix(request.Name, "--wl"):
				return t.workload.config, true
			default:
				return t.mcp.config, true
			}
		},
		Deny: func(request client.ObjectKey) string {
			if _, denied := t.denied.Load(request.Namespace); denied {
				return "the tenant has not paid"
			}

			return ""
		},
		TokenTTL: time.Hour, // so that no renewal triggers a pass, only a change of the configuration
		TTLFor: func(asked client.ObjectKey) time.Duration {
			if asked == client.ObjectKeyFromObject(request("amber")) {
				return t.short // they expire during the tour, and are renewed
			}

			return 0
		},
	}
	var err error
	if t.granting, err = t.manage(ctx, t.platform.config, t.granter.SetupWithManager); err != nil {
		return err
	}

	return t.startProvider(ctx)
}

// startProvider runs a provider without any state. It does the same as main of a real provider: with its role on the
// platform it requests access to the onboarding cluster, where its manager runs. The manager ends if one of the
// clusters whose caches it runs has been restored to an earlier state: the next process lists everything anew.
func (t *walk) startProvider(ctx context.Context) error {
	config, err := t.user(ctx)
	if err != nil {
		return err
	}
	restores := moorage.NewRestoreDetector(moorage.WithRestoreLogger(logging.NewLogrLogger(ctrl.Log)))
	platform := clusters.New("platform").WithRESTConfig(detecting(config, restores))
	if err := platform.InitializeClient(t.scheme); err != nil {
		return err
	}
	onboarding, err := clusteraccess.WaitFor(ctx, platform, providerName, programNamespace,
		clusteraccess.Onboarding("onboarding-run", clusteraccess.Registration{Scheme: t.scheme, Token: mayServe()}),
		clusteraccess.WithRetryInterval(time.Second))
	if err != nil {
		return err
	}
	t.provider, err = t.manage(ctx, detecting(onboarding.RESTConfig(), restores), func(m ctrl.Manager) error {
		return t.setup(m, platform, onboarding, restores)
	})

	return err
}

// setup adds the provider to a manager of the onboarding cluster.
func (t *walk) setup(m ctrl.Manager, platform, onboarding *clusters.Cluster, restores *moorage.RestoreDetector) error {
	access, err := clusteraccess.New(platform, providerName, []clusteraccess.Registration{
		clusteraccess.MCP(t.scheme, mayUse("", "secrets")), clusteraccess.Workload(t.scheme, mayUse("apps", "deployments")),
	}, clusteraccess.WithRetryInterval(time.Second))
	if err != nil {
		return err
	}
	r, err := serviceprovider.NewAPIReconcilerBuilder[*Account, *Messaging]().
		EmptyObjectProvider(func() *Account { return &Account{} }).
		OnboardingCluster(onboarding).PlatformCluster(platform).
		ClusterAccessReconciler(access).WorkloadCluster(true).
		ConfigSource(t.configs(platform)).
		Reconciler(&service{hub: t.hub, platform: platform}).
		ControllerOptions(controller.Options{MaxConcurrentReconciles: 4, SkipNameValidation: new(true)}).
		Build()
	if err != nil {
		return err
	}
	closed := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		access.Close()

		return nil
	})
	for _, part := range []manager.Runnable{platform.Cluster(), restores, closed} {
		if err := m.Add(part); err != nil {
			return err
		}
	}

	return r.SetupWithManagerNamed(m, providerName)
}

// detecting returns a copy of a configuration whose caches report restores to a detector.
func detecting(config *rest.Config, restores *moorage.RestoreDetector) *rest.Config {
	config = rest.CopyConfig(config)
	clusters.OnRestored(config, func(r clusters.Restore) { restores.Seen(r.Of(), r.Known, r.Answered) })

	return config
}

// mayUse returns the permissions of a token for a control plane or a workload cluster.
func mayUse(group, kind string) *clustersv1alpha1.TokenConfig {
	return &clustersv1alpha1.TokenConfig{Permissions: []clustersv1alpha1.PermissionsRequest{{
		Namespace: "default", Rules: []rbacv1.PolicyRule{rule(group, kind, "get", "create", "delete")},
	}}}
}

// A running is a started manager.
type running struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
	err  error         // of Start
}

func (t *walk) manage(ctx context.Context, config *rest.Config, setup func(ctrl.Manager) error) (*running, error) {
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: t.scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	if err := setup(m); err != nil {
		return nil, err
	}
	r := &running{done: make(chan struct{})}
	ctx, r.stop = context.WithCancel(ctx)
	go func() {
		defer close(r.done)
		r.err = m.Start(ctx)
	}()

	return r, nil
}

// end stops the manager, and returns after it has ended. If r is nil it does nothing.
func (r *running) end() error {
	if r == nil {
		return nil
	}
	r.stop()
	<-r.done

	return r.err
}

// halt stops the managers.
func (t *walk) halt() error { return errors.Join(t.provider.end(), t.granting.end()) }

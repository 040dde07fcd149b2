package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	moorage "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

const (
	home         = "tenants"   // where on the onboarding cluster the objects are
	providerName = "messaging" // of the configuration, and part of the names of requests
)

// A tour starts the clusters, NATS, the platform and the provider, which has its own role
// and no other, and goes through the steps. What a step claims is asked of the API servers and of NATS, not of the provider.
type tour struct {
	out      io.Writer
	patience time.Duration
	before   func(step int) // called before each step, for tests
	configs  func(platform *clusters.Cluster) configSource
	short    time.Duration // how long the tokens for amber are valid

	scheme                    *runtime.Scheme
	platform, onboarding, mcp *cluster
	hub                       *hub
	granter                   *clusterstest.Granter
	denied                    sync.Map // namespaces of requests
	last                      []byte   // credentials that a stream was made with

	stop    context.CancelFunc // ends the managers
	running sync.WaitGroup
	ended   chan error
}

type configSource = serviceprovider.ConfigSource[*Account, *Messaging]

// Named is the configuration that the provider works with.
func named(platform *clusters.Cluster) configSource {
	return serviceprovider.NamedConfig[*Account](platform, providerName, func() *Messaging { return &Messaging{} })
}

// A cluster is an API server and a client with every permission.
type cluster struct {
	*devcluster.Cluster
	client.Client

	config *rest.Config
}

// A step does something, if there is something to do, and then holds, within the tour's patience, or does not.
type step struct {
	what  string
	do    func(ctx context.Context) error
	holds func(ctx context.Context) error
}

func newTour(out io.Writer) *tour {
	return &tour{out: out, patience: patience, before: func(int) {}, configs: named, short: 30 * time.Second, scheme: runtime.NewScheme(), ended: make(chan error, 2)}
}

// run returns an error if a step did not hold.
func (t *tour) run(ctx context.Context) (err error) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clustersv1alpha1.AddToScheme, addToScheme} {
		if err := add(t.scheme); err != nil {
			return err
		}
	}
	fmt.Fprintln(t.out, "Starting three API servers (platform, onboarding, a control plane) and NATS.")
	for _, c := range []**cluster{&t.platform, &t.onboarding, &t.mcp} {
		if *c, err = t.newCluster(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, (*c).Stop()) }()
	}
	if t.hub, err = newHub(); err != nil {
		return err
	}
	defer t.hub.stop()
	if err := t.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.halt()) }()
	if err := t.start(ctx); err != nil {
		return err
	}
	steps := t.steps()
	for i, s := range steps {
		t.before(i)
		fmt.Fprintf(t.out, "%d/%d  %s\n", i+1, len(steps), s.what)
		if err := t.take(ctx, s); err != nil {
			return fmt.Errorf("step %d did not hold: %w", i+1, err)
		}
	}
	fmt.Fprintln(t.out, "Every step held.")

	return nil
}

func (t *tour) take(ctx context.Context, s step) error {
	if s.do != nil {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true, func(ctx context.Context) (bool, error) {
		last = s.holds(ctx)

		return last == nil, nil
	})

	return errors.Join(err, last)
}

func (t *tour) newCluster(ctx context.Context) (*cluster, error) {
	c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: t.out})
	if err != nil {
		return nil, err
	}
	config, err := c.RESTConfig()
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	api, err := client.New(config, client.Options{Scheme: t.scheme})

	return &cluster{Cluster: c, Client: api, config: config}, err
}

// Prepare installs the kinds, and the configuration.
func (t *tour) prepare(ctx context.Context) error {
	if err := clusterstest.InstallCRDs(ctx, t.platform, clustersv1alpha1.CRDs()); err != nil {
		return err
	}
	config := &Messaging{ObjectMeta: metav1.ObjectMeta{Name: providerName}, Connections: 5, Poll: metav1.Duration{Duration: time.Hour}} // until a step changes it
	for _, create := range []struct {
		in *cluster
		o  client.Object
	}{
		{t.platform, definition("Messaging", "messagings", apiextensionsv1.ClusterScoped)},
		{t.onboarding, definition("Account", "accounts", apiextensionsv1.NamespaceScoped)},
		{t.platform, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: keepNamespace}}},
		{t.onboarding, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}},
		{t.platform, config},
	} {
		// A kind is served a moment after it was defined.
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true, func(ctx context.Context) (bool, error) {
			return create.in.Create(ctx, create.o) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("cannot create %T %s: %w", create.o, create.o.GetName(), err)
		}
	}

	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true, func(ctx context.Context) (bool, error) {
		return t.onboarding.List(ctx, &AccountList{}) == nil, nil
	})
}

// Start runs the platform's granter and the provider.
func (t *tour) start(ctx context.Context) error {
	ctx, t.stop = context.WithCancel(ctx)
	t.granter = &clusterstest.Granter{
		ClusterFor: func(client.ObjectKey) (*rest.Config, bool) { return t.mcp.config, true },
		Deny: func(request client.ObjectKey) string {
			if _, denied := t.denied.Load(request.Namespace); denied {
				return "the tenant has not paid"
			}

			return ""
		},
		TokenTTL: time.Hour, // so that nothing but the configuration tells of its change
		TTLFor: func(asked client.ObjectKey) time.Duration {
			if asked == client.ObjectKeyFromObject(request("amber")) {
				return t.short // they are renewed on the way, and end
			}

			return 0
		},
	}
	if err := t.manage(ctx, t.platform.config, t.granter.SetupWithManager); err != nil {
		return err
	}

	onboarding, err := t.user(ctx, t.onboarding)
	if err != nil {
		return err
	}
	platform, err := t.user(ctx, t.platform)
	if err != nil {
		return err
	}

	restores := moorage.NewRestoreDetector(moorage.WithRestoreLogger(logging.NewLogrLogger(ctrl.Log)))

	return t.manage(ctx, detecting(onboarding, restores), func(m ctrl.Manager) error { return t.setup(m, platform, restores) })
}

// Setup is what the main of a real provider does. The process ends once one of the clusters whose
// caches its manager runs was restored to an earlier state: the next one lists everything anew.
func (t *tour) setup(m ctrl.Manager, config *rest.Config, restores *moorage.RestoreDetector) error {
	config = detecting(config, restores)
	onboarding, platform := clusters.New("onboarding").WithRESTConfig(m.GetConfig()), clusters.New("platform").WithRESTConfig(config)
	for _, c := range []*clusters.Cluster{onboarding, platform} {
		if err := c.InitializeClient(t.scheme); err != nil {
			return err
		}
	}
	secrets := &clustersv1alpha1.TokenConfig{Permissions: []clustersv1alpha1.PermissionsRequest{{
		Namespace: "default", Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "delete"}}},
	}}}
	access, err := clusteraccess.New(platform, providerName, []clusteraccess.Registration{clusteraccess.MCP(t.scheme, secrets)},
		clusteraccess.WithRetryInterval(time.Second))
	if err != nil {
		return err
	}
	r, err := serviceprovider.NewAPIReconcilerBuilder[*Account, *Messaging]().
		EmptyObjectProvider(func() *Account { return &Account{} }).
		OnboardingCluster(onboarding).PlatformCluster(platform).
		ClusterAccessReconciler(access).
		ConfigSource(t.configs(platform)).
		Reconciler(&service{hub: t.hub, platform: platform}).
		ControllerOptions(controller.Options{MaxConcurrentReconciles: 4, SkipNameValidation: new(true)}).
		Build()
	if err != nil {
		return err
	}
	for _, part := range []manager.Runnable{platform.Cluster(), restores} {
		if err := m.Add(part); err != nil {
			return err
		}
	}

	return r.SetupWithManagerNamed(m, providerName)
}

// Detecting returns a copy of a configuration whose caches tell a detector of restores.
func detecting(config *rest.Config, restores *moorage.RestoreDetector) *rest.Config {
	config = rest.CopyConfig(config)
	clusters.OnRestored(config, func(r clusters.Restore) { restores.Seen(r.Of(), r.Known, r.Answered) })

	return config
}

func (t *tour) manage(ctx context.Context, config *rest.Config, setup func(ctrl.Manager) error) error {
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: t.scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := setup(m); err != nil {
		return err
	}
	t.running.Go(func() { t.ended <- m.Start(ctx) })

	return nil
}

// Halt ends the managers.
func (t *tour) halt() (err error) {
	t.stop()
	t.running.Wait()
	close(t.ended)
	for e := range t.ended {
		err = errors.Join(err, e)
	}

	return err
}

package systemtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	poll "k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The three control planes. The onboarding cluster is the one that the packages of a test run share: no story takes
// it away.
var platform, onboarding, mcp *plane

var (
	scheme  = runtime.NewScheme()
	objects = flag.Int("objects", 24, "how many objects TestMany has")
	planes  = flag.Int("clusters", 3, "how many control planes they share")
)

// A plane is a control plane and a client with every permission, not counted.
type plane struct {
	*devcluster.Cluster

	config *rest.Config
	api    client.Client
}

func TestMain(m *testing.M) {
	flag.Parse()
	leak.VerifyTestMain(leak.Tests(func() (int, error) { return run(m) }),
		append(leak.Connections(), leak.Informers()...)...)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		clustersv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	scheme.AddKnownTypes(group, &Garden{}, &GardenList{}, &GardenConfig{}, &GardenConfigList{})
	metav1.AddToGroupVersion(scheme, group)
	for p, of := range map[**plane]func(context.Context, devcluster.Options) (*devcluster.Cluster, error){
		&platform: devcluster.Start, &onboarding: devcluster.Join, &mcp: devcluster.Start,
	} {
		c, err := of(ctx, devcluster.Options{Own: true, Progress: os.Stderr})
		if err != nil {
			return 1, err
		}
		defer func() { _ = c.Stop() }()
		*p = &plane{Cluster: c}
		if (*p).config, err = c.RESTConfig(); err != nil {
			return 1, err
		}
		if (*p).api, err = client.New((*p).config, client.Options{Scheme: scheme}); err != nil {
			return 1, err
		}
	}
	if err := clusterstest.InstallCRDs(ctx, platform.api, clustersv1alpha1.CRDs()); err != nil {
		return 1, err
	}
	if err := platform.api.Create(ctx, definition("GardenConfig", "gardenconfigs",
		apiextensionsv1.ClusterScoped)); err != nil {
		return 1, err
	}
	if err := client.IgnoreAlreadyExists(onboarding.api.Create(ctx,
		definition("Garden", "gardens", apiextensionsv1.NamespaceScoped))); err != nil {
		return 1, err
	}
	err = poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true,
		func(ctx context.Context) (bool, error) {
			return platform.api.List(ctx, &GardenConfigList{}) == nil &&
				onboarding.api.List(ctx, &GardenList{}) == nil, nil
		})
	if err != nil {
		return 1, err
	}
	if err := bind(ctx); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// An estate is a namespace of gardens, a provider of them, and the platform it works with.
type estate struct {
	*testing.T

	ns       string
	config   *GardenConfig
	gardener *gardener
	granter  *clusterstest.Granter
	ledger   *test.Ledger // of the onboarding cluster
	builds   atomic.Int32
	ttl      time.Duration // of its tokens, if a granter is shared
	denied   sync.Map      // namespaces of AccessRequests
	stop     func()

	// Of the provider; they can be changed before it starts.
	onGone     serviceprovider.DeletionPolicy
	at         func(reconcile.Request) client.ObjectKey // the ClusterRequest of a garden
	retry      time.Duration
	recheck    time.Duration
	workload   bool   // gardens have a workload cluster, too
	advanced   bool   // access comes from an AdvancedProvider
	channel    bool   // the configuration comes over a channel: what does is in sent
	references bool   // the gardener is a reader
	modest     bool   // the provider must not watch Secrets
	local      bool   // clusters are at the addresses that annotations of AccessRequests tell
	former     string // name of the controller
	apart      bool   // requests for workload clusters have a namespace that does not exist

	sent  list[bool]        // over the channel: whether there was a configuration
	asked map[*plane]*notes // what the provider asked of the platform and the onboarding cluster
}

func newEstate(t *testing.T, name string) *estate {
	t.Helper()
	name = "gardens-" + name // others have namespaces on the onboarding cluster, too
	e := &estate{
		T: t, ns: name, ledger: &test.Ledger{}, onGone: serviceprovider.DeletionBlock,
		retry: 250 * time.Millisecond, recheck: 200 * time.Millisecond,
	}
	e.at = func(r reconcile.Request) client.ObjectKey {
		return client.ObjectKey{Namespace: clusteraccess.StableNamespace(r), Name: r.Name}
	}
	e.granter = &clusterstest.Granter{
		Workers:    8,
		ClusterFor: func(client.ObjectKey) (*rest.Config, bool) { return mcp.config, true },
		Deny: func(r client.ObjectKey) string {
			if _, denied := e.denied.Load(r.Namespace); denied {
				return "not today"
			}

			return ""
		},
	}
	e.config = &GardenConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Plant: "roses",
		Poll: metav1.Duration{Duration: 200 * time.Millisecond},
	}
	for _, err := range []error{
		platform.api.Create(t.Context(), e.config),
		onboarding.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	return e
}

// manage runs a manager until the test ends or stop is called.
func manage(t *testing.T, config *rest.Config, seen cache.Options, setup func(ctrl.Manager) error) (stop func()) {
	t.Helper()
	end, err := launch(config, seen, setup)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(stop)

	return stop
}

// launch runs a manager until end is called, which returns when it has ended.
func launch(config *rest.Config, seen cache.Options, setup func(ctrl.Manager) error) (end func() error, err error) {
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: seen, Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		return nil, err
	}
	if err := setup(m); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()

	return func() error {
		cancel()

		return <-ended
	}, nil
}

// grant starts the granter.
func (e *estate) grant() (stop func()) {
	return manage(e.T, platform.config, cache.Options{}, e.granter.SetupWithManager)
}

// start starts the provider, as a new process would.
func (e *estate) start() {
	e.Helper()
	e.gardener = newGardener()
	counted := e.user(onboarding)
	counted.Wrap(e.ledger.Wrap)
	home, base := clusters.New("onboarding").WithRESTConfig(counted), clusters.New("platform").
		WithRESTConfig(e.user(platform))
	for _, c := range []*clusters.Cluster{home, base} {
		if err := c.InitializeClient(scheme); err != nil {
			e.Fatal(err)
		}
	}
	access := e.access(base)
	b := serviceprovider.NewAPIReconcilerBuilder[*Garden, *GardenConfig]().
		EmptyObjectProvider(func() *Garden { return &Garden{} }).
		OnboardingCluster(home).PlatformCluster(base).ClusterAccessReconciler(access).Reconciler(e.gardener).
		WorkloadCluster(e.workload).OnClusterGone(e.onGone).
		ControllerOptions(controller.Options{MaxConcurrentReconciles: 8, SkipNameValidation: new(true)})
	if e.advanced {
		b.AdvancedClusterAccessReconciler(clusteraccess.SimpleProviderAdapter{Provider: access})
	}
	if e.references {
		b.Reconciler(reader{e.gardener}).SecretNamespace(e.ns).ConfigMapNamespace(e.ns)
	}
	if !e.channel {
		b.EmptyConfigProvider(newGardenConfig)
	}
	r, err := b.Build()
	if err != nil {
		e.Fatal(err)
	}
	own := cache.Options{DefaultNamespaces: map[string]cache.Config{e.ns: {}}}
	end := manage(e.T, counted, own, func(m ctrl.Manager) error {
		if err := m.Add(base.Cluster()); err != nil {
			return err
		}
		if !e.channel {
			return r.SetupWithManagerNamed(m, e.ns)
		}
		updates, err := e.updates(m, base)
		if err != nil {
			return err
		}

		return r.SetupWithManager(m, e.ns, updates)
	})
	e.stop = sync.OnceFunc(func() {
		end()
		access.Close()
	})
	e.Cleanup(e.stop)
}

// updates returns the channel that the configuration comes over. What does is noted on the
// way.
func (e *estate) updates(m ctrl.Manager, base *clusters.Cluster) (chan event.GenericEvent, error) {
	sent, updates := make(chan event.GenericEvent), make(chan event.GenericEvent)
	c, err := serviceprovider.NewConfigReconcilerBuilder[*GardenConfig]().EmptyObjectProvider(newGardenConfig).
		ProviderName(e.ns).PlatformCluster(base).UpdateChannel(sent).Build()
	if err != nil {
		return nil, err
	}
	pass := func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case u := <-sent:
				e.sent.add(u.Object != nil)
				select {
				case updates <- u:
				case <-ctx.Done():
				}
			}
		}
	}
	if err := m.Add(manager.RunnableFunc(pass)); err != nil {
		return nil, err
	}

	return updates, c.SetupWithManager(m)
}

// A list is what was noted, in its order.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(one T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
}

// from returns what was noted after the first n.
func (l *list[T]) from(n int) []T {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.all[n:])
}

// beds is what a gardener has to be able to do.
var beds = &clustersv1alpha1.TokenConfig{Permissions: []clustersv1alpha1.PermissionsRequest{{
	Namespace: "default", Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"},
	}},
}}}

// access returns what asks the platform for access, and counts connections.
func (e *estate) access(base *clusters.Cluster) *clusteraccess.Requester {
	e.Helper()
	mcps := clusteraccess.MCP(scheme, beds)
	mcps.ExistingRequest, mcps.Namespace = e.at, func(r reconcile.Request) string { return e.at(r).Namespace }
	registered := []clusteraccess.Registration{mcps}
	if e.workload {
		workload := clusteraccess.Workload(scheme, beds)
		if e.apart {
			workload.Namespace = func(reconcile.Request) string { return e.ns + "-apart" }
		}
		registered = append(registered, workload)
	}
	options := []clusteraccess.Option{
		clusteraccess.WithRetryInterval(e.retry), clusteraccess.WithRecheckInterval(e.recheck),
		clusteraccess.WithBuild(func(_ context.Context, key clusters.Key,
			in clusters.Input) (*clusters.Cluster, error) {
			e.builds.Add(1)
			c := clusters.New(key.String()).WithRESTConfig(in.RESTConfig)

			return c, c.InitializeClient(scheme)
		}),
	}
	if e.local {
		options = append(options, clusteraccess.WithRewriteRESTConfig(clusteraccess.HostFromAnnotation(localAddress)))
	}
	if e.former != "" {
		options = append(options, clusteraccess.WithFormerNames(e.former))
	}
	access, err := clusteraccess.New(base, e.ns, registered, options...)
	if err != nil {
		e.Fatal(err)
	}

	return access
}

func newGardenConfig() *GardenConfig { return &GardenConfig{} }

// plane makes the control plane of a garden known to the platform.
func (e *estate) plane(name string) *clustersv1alpha1.ClusterRequest {
	e.Helper()
	at := e.at(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: e.ns, Name: name}})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at.Namespace}}
	if err := client.IgnoreAlreadyExists(platform.api.Create(e.Context(), ns)); err != nil {
		e.Fatal(err)
	}
	cr := &clustersv1alpha1.ClusterRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name},
		Spec:       clustersv1alpha1.ClusterRequestSpec{Purpose: "mcp"},
	}
	if err := platform.api.Create(e.Context(), cr); err != nil {
		e.Fatal(err)
	}

	return cr
}

func (e *estate) create(name string) *Garden {
	e.Helper()
	g := &Garden{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: name}}
	if err := onboarding.api.Create(e.Context(), g); err != nil {
		e.Fatal(err)
	}

	return g
}

func (e *estate) delete(c client.Client, o client.Object) {
	e.Helper()
	if err := c.Delete(e.Context(), o); err != nil {
		e.Fatal(err)
	}
}

// request returns the AccessRequest of a garden.
func (e *estate) request(g *Garden) *clustersv1alpha1.AccessRequest {
	return &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.at(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)}).Namespace,
		Name:      e.ns + "--" + g.Name + "--mcp",
	}}
}

// says waits until the condition of a garden has a reason.
func (e *estate) says(g *Garden, condition, reason string) {
	e.Helper()
	wait.Until(e.T, fmt.Sprintf("%s of %s is %s", condition, g.Name, reason), func() bool {
		if err := onboarding.api.Get(e.Context(), client.ObjectKeyFromObject(g), g); err != nil {
			e.Fatal(err)
		}
		for _, c := range g.Status.Conditions {
			if c.Type == condition {
				return c.Reason == reason
			}
		}

		return reason == ""
	})
}

func gone(t *testing.T, c client.Client, o client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}

	return err != nil
}

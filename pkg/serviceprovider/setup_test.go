package serviceprovider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// fakeManager is a manager that starts nothing. A test sets its cache.
type fakeManager struct {
	ctrl.Manager

	cache   *informertest.FakeInformers
	added   []manager.Runnable
	refuses func(manager.Runnable) error
}

func (m *fakeManager) GetCache() cache.Cache { return m.cache }

func (m *fakeManager) Add(r manager.Runnable) error {
	if m.refuses != nil {
		if err := m.refuses(r); err != nil {
			return err
		}
	}
	m.added = append(m.added, r)

	return nil
}

// newFakeManager returns a fakeManager.
func newFakeManager(t *testing.T) *fakeManager {
	t.Helper()
	m, err := ctrl.NewManager(plane, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}

	return &fakeManager{Manager: m, cache: &informertest.FakeInformers{Scheme: scheme}}
}

// withCache returns a cluster that has a cache.
func withCache(t *testing.T) *clusters.Cluster {
	t.Helper()
	c := clusters.New("platform").WithRESTConfig(plane)
	if err := c.InitializeClient(scheme); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	return c
}

// kinds returns the kinds of sources, in order.
func kinds(sources []source.Source) (all []string) {
	for _, s := range sources {
		if k, ok := s.(fmt.Stringer); ok {
			what, _, _ := strings.Cut(k.String(), ": 0x")
			all = append(all, what)

			continue
		}
		all = append(all, fmt.Sprintf("%T", s))
	}

	return all
}

// watchingProvider is an access provider and a source of configurations, both with sources.
type watchingProvider struct {
	*fakeProvider

	enqueue func(context.Context, *FooConfig) []reconcile.Request
}

type signal struct {
	source.TypedSyncingSource[reconcile.Request]
}

func (*watchingProvider) AccessSources() []source.Source { return []source.Source{signal{}} }

func (*watchingProvider) ConfigFor(context.Context, *Foo) (*FooConfig, error) {
	return nil, ErrConfigNotFound
}

func (k *watchingProvider) Source(
	enqueue func(context.Context, *FooConfig) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	k.enqueue = enqueue

	return signal{}
}

// TestSources checks the sources of a controller for each option and capability.
func TestSources(t *testing.T) {
	const (
		foos    = "kind source: *serviceprovider.Foo"
		signals = "serviceprovider.signal"
		names   = "kind source: *v1.PartialObjectMetadata"
	)
	cases := map[string]struct {
		reason  string
		build   func(b *APIReconcilerBuilder[*Foo, *FooConfig])
		updates chan ctrlevent.GenericEvent
		want    []string
		caches  int // of names
	}{
		"Objects": {"by default those alone", func(*APIReconcilerBuilder[*Foo, *FooConfig]) {}, nil, []string{foos}, 0},
		"Channel": {
			"configurations come over it", func(*APIReconcilerBuilder[*Foo, *FooConfig]) {},
			make(chan ctrlevent.GenericEvent),
			[]string{foos, "func source"}, 0,
		},
		"Watchers": {"access and configurations", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(&watchingProvider{}).ConfigSource(&watchingProvider{})
		}, nil, []string{foos, signals, signals}, 0},
		"References": {"to Secrets and ConfigMaps, in their namespaces",
			func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Reconciler(&wantedWatcher{}).SecretNamespace("secrets").ConfigMapNamespace("maps")
			}, nil, []string{foos, names + "[v1 Secret]", names + "[v1 ConfigMap]"}, 2},
		"NoNamespace": {"the namespace of Secrets is not set", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.Reconciler(&wantedWatcher{}).ConfigMapNamespace("maps")
		}, nil, []string{foos, names + "[v1 ConfigMap]"}, 1},
		"NoWatcher": {"the domain does not care for any", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.SecretNamespace("secrets").ConfigMapNamespace("maps")
		}, nil, []string{foos}, 0},
		"All": {"in this order", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(&watchingProvider{}).ConfigSource(
				&watchingProvider{}).Reconciler(&wantedWatcher{}).SecretNamespace("secrets").ConfigMapNamespace("maps")
		}, make(chan ctrlevent.GenericEvent), []string{
			foos, signals, "func source", signals, names + "[v1 Secret]", names + "[v1 ConfigMap]",
		}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { tc.build(b.PlatformCluster(withCache(t))) }
			w.restart()
			m := newFakeManager(t)
			sources, err := w.r.sources(m, tc.updates)
			if diff := cmp.Diff(tc.want, kinds(sources)); diff != "" || err != nil || len(m.added) != tc.caches {
				t.Errorf("%s: got %v and %d caches, -want +got:\n%s", tc.reason, err, len(m.added), diff)
			}
		})
	}
}

// TestMetadataCluster verifies that the cluster for one namespace shares everything but the cache
// with the platform cluster.
func TestMetadataCluster(t *testing.T) {
	w := newFakeWorld(t)
	platform := withCache(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.PlatformCluster(platform).Reconciler(&wantedWatcher{}).SecretNamespace("secrets")
	}
	w.restart()
	m := newFakeManager(t)
	_, err := w.r.referenceSources(m)
	w.Must(err)
	whole, names := platform.Cluster(), m.added[0].(cluster.Cluster)
	if names.GetCache() == whole.GetCache() || names.GetScheme() != whole.GetScheme() ||
		names.GetHTTPClient() != whole.GetHTTPClient() || names.GetRESTMapper() != whole.GetRESTMapper() {
		t.Error("want another cache, and the same of everything else")
	}

	full := &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Annotations: map[string]string{"last": "all"}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
	}
	short, err := stripMetadata(full)
	if diff := cmp.Diff(&metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
	}, short); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if other, err := stripMetadata("other"); other != "other" || err != nil {
		t.Errorf("want anything else as it is, got %v, %v", other, err)
	}
}

// TestSetupErrors verifies that a failed setup returns the cause and reserves no name.
func TestSetupErrors(t *testing.T) {
	w := newFakeWorld(t)
	refuses := func(cache bool) func(manager.Runnable) error {
		return func(r manager.Runnable) error {
			if _, is := r.(cluster.Cluster); is == cache {
				return boom
			}

			return nil
		}
	}
	cases := map[string]struct {
		platform *clusters.Cluster
		refuses  func(manager.Runnable) error
		want     string
	}{
		"NoCache": {w.home, nil, "the platform cluster has no cache: initialize its client"},
		"CacheRefused": {
			withCache(t), refuses(true), "cannot watch the namespace secrets of the platform cluster: boom",
		},
		"ControllerRefused": {withCache(t), refuses(false), "cannot set up the controller refused: boom"},
	}
	for name, tc := range cases {
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.PlatformCluster(tc.platform).Reconciler(&wantedWatcher{}).SecretNamespace("secrets").ControllerOptions(
				controller.Options{SkipNameValidation: new(true)})
		}
		w.restart()
		m := newFakeManager(t)
		m.refuses = tc.refuses
		if err := w.r.SetupWithManager(m, "refused", nil); err == nil || err.Error() != tc.want {
			t.Errorf("%s: want %q, got %v", name, tc.want, err)
		}
	}
	w.restart()
	if err := w.r.SetupWithManager(newFakeManager(t), "", nil); err == nil ||
		err.Error() != "cannot set up a controller without a name" || w.r.cache != nil {
		t.Errorf("without a name: got %v, and objects are read from %v", err, w.r.cache)
	}

	configs := func(c *clusters.Cluster) *ConfigReconciler[*FooConfig] {
		return NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(
			newFooConfig).PlatformCluster(c).ProviderName("refused").
			UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	}
	m := newFakeManager(t)
	if err := configs(w.home).SetupWithManager(m); err == nil ||
		err.Error() != "the platform cluster has no cache: initialize its client" {
		t.Errorf("configurations: got %v", err)
	}
	w.Must(configs(withCache(t)).SetupWithManager(m))
	const taken = "cannot set up the controller of the provider config: controller with name providerconfig-refused " +
		"already exists"
	if err := configs(withCache(t)).SetupWithManager(m); err == nil || !strings.HasPrefix(err.Error(), taken) {
		t.Errorf("configurations: want %q, got %v", taken, err)
	}
}

// TestConfigSourceSelection verifies that the configuration with the name of the controller is
// watched only without another source.
func TestConfigSourceSelection(t *testing.T) {
	const types = "[*github.com/moorage-dev/moorage/pkg/serviceprovider.Foo," +
		"*github.com/moorage-dev/moorage/pkg/serviceprovider.FooConfig]"
	for name, tc := range map[string]struct {
		empty  func() *FooConfig
		source ConfigSource[*Foo, *FooConfig]
		want   string
	}{
		"named":       {newFooConfig, nil, "*serviceprovider.selectedConfig" + types},
		"sent":        {nil, nil, "*serviceprovider.channelConfig" + types},
		"given":       {newFooConfig, &watchingProvider{}, "*serviceprovider.watchingProvider"},
		"given alone": {nil, &watchingProvider{}, "*serviceprovider.watchingProvider"},
	} {
		w := newFakeWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.EmptyConfigProvider(tc.empty).ConfigSource(tc.source).PlatformCluster(withCache(t)).ControllerOptions(
				controller.Options{SkipNameValidation: new(true)})
		}
		w.restart()
		w.Must(w.r.SetupWithManagerNamed(newFakeManager(t), "named"))
		if got := fmt.Sprintf("%T", w.r.configs); got != tc.want {
			t.Errorf("%s: want %s, got %s", name, tc.want, got)
		}
		if w.r.cache == nil {
			t.Errorf("%s: want objects read from the cache of the manager", name)
		}
		// The domain gets the configuration of an empty object.
		w.Create(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "named"}})
		if got := w.r.currentConfig(t.Context()); (got == nil) != (name != "sent") {
			t.Errorf("%s: a watcher is told %v", name, got)
		}
	}
}

// start starts a source, and returns its queue.
func start(t *testing.T, s source.Source) queue {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	if err := s.Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	if syncing, ok := s.(source.SyncingSource); ok {
		if err := syncing.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
	}

	return q
}

// TestPredicates verifies that predicates of the builder replace the default one.
func TestPredicates(t *testing.T) {
	for name, tc := range map[string]struct {
		predicates []predicate.Predicate
		want       int
	}{
		"default": {nil, 0},
		"one":     {[]predicate.Predicate{predicate.NewPredicateFuncs(func(client.Object) bool { return true })}, 1},
	} {
		w := newFakeWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Predicates(tc.predicates...) }
		w.restart()
		m := newFakeManager(t)
		sources, err := w.r.sources(m, nil)
		w.Must(err)
		q := start(t, sources[0])
		informer, err := m.cache.FakeInformerFor(t.Context(), newFoo())
		w.Must(err)
		before := &Foo{ObjectMeta: metav1.ObjectMeta{Name: "foo"}}
		informer.Update(before, &Foo{ObjectMeta: before.ObjectMeta, Status: FooStatus{Phase: "Ready"}})
		if q.Len() != tc.want {
			t.Errorf("%s: want %d for a change of the status, got %d", name, tc.want, q.Len())
		}
		informer.Update(before, &Foo{ObjectMeta: metav1.ObjectMeta{Name: "foo", Generation: 2}})
		if q.Len() != 1 {
			t.Errorf("%s: want one for a change of the spec, got %d", name, q.Len())
		}
	}
}

// TestChannelSource verifies that a configuration is stored before its objects are requeued.
func TestChannelSource(t *testing.T) {
	w := newFakeWorld(t)
	w.config = nil
	var known []string
	w.intercept(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
			known = append(known, w.r.currentConfig(ctx).Image)

			return c.List(ctx, l, o...)
		},
	})
	f := w.create("foo")
	w.restart()
	updates := make(chan ctrlevent.GenericEvent)
	sources, err := w.r.sources(newFakeManager(t), updates)
	w.Must(err)
	q := start(t, sources[1])
	for _, image := range []string{"v1", "v2"} {
		updates <- ctrlevent.GenericEvent{Object: &FooConfig{Image: image}}
		got, _ := q.Get()
		q.Done(got)
		if got.NamespacedName != client.ObjectKeyFromObject(f) {
			t.Errorf("%s: got %s", image, got)
		}
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, known); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMapReferences verifies that the domain is called only for the kinds it watches, with the
// configuration of an empty object.
func TestMapReferences(t *testing.T) {
	w := newFakeWorld(t)
	d := &secretMapper{}
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(d) }
	w.restart()
	if got := w.r.mapSecretToRequests()(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
	}); got != nil {
		t.Errorf("want nothing for what is no Secret, got %v", got)
	}
	for name, tc := range map[string]struct {
		source ConfigSource[*Foo, *FooConfig]
		want   *FooConfig
	}{
		"over the channel": {nil, w.config},
		"of a source":      {StaticConfig[*Foo](&FooConfig{Image: "v2"}), &FooConfig{Image: "v2"}},
		"terminating":      {fixedConfigSource{w.config, ErrConfigTerminating}, nil},
	} {
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(tc.source) }
		w.restart()
		if diff := cmp.Diff(tc.want, w.r.currentConfig(t.Context())); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// passes returns the values of the metric by controller and outcome.
func passes(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "moorage_serviceprovider_passes_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			var key string
			for _, l := range m.GetLabel() {
				key += l.GetName() + "=" + l.GetValue() + " "
			}
			all[key] = m.GetCounter().GetValue()
		}
	}

	return all
}

// TestPassesMetric verifies that all reconcilers of one name in a process share the counter.
func TestPassesMetric(t *testing.T) {
	w := newFakeWorld(t)
	name := "counts-" + strings.ToLower(t.Name())
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ControllerOptions(controller.Options{SkipNameValidation: new(true)})
	}
	unwatched := w.create("foo")
	w.Delete(unwatched)
	before := passes(t)
	for range 2 {
		w.restart()
		w.Must(w.r.SetupWithManager(newFakeManager(t), name, nil))
		w.r.cache = nil
		w.steady(unwatched)
	}
	key := "controller=" + name + " outcome=NothingToDo "
	if after := passes(t); after[key]-before[key] != 2 {
		t.Errorf("want two more, had %v, got %v", before, after)
	}
}

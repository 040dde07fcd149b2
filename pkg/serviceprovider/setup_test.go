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

// An idle manager starts nothing. Its cache tells what a test says.
type idle struct {
	ctrl.Manager

	cache   *informertest.FakeInformers
	added   []manager.Runnable
	refuses func(manager.Runnable) error
}

func (m *idle) GetCache() cache.Cache { return m.cache }

func (m *idle) Add(r manager.Runnable) error {
	if m.refuses != nil {
		if err := m.refuses(r); err != nil {
			return err
		}
	}
	m.added = append(m.added, r)

	return nil
}

func newIdle(t *testing.T) *idle {
	t.Helper()
	m, err := ctrl.NewManager(plane, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}

	return &idle{Manager: m, cache: &informertest.FakeInformers{Scheme: scheme}}
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

// kinds are what sources are of, in their order.
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

// A keeper is an access provider and a source of configurations, both of which know when
// something has changed.
type keeper struct {
	*gate

	enqueue func(context.Context, *FooConfig) []reconcile.Request
}

type signal struct {
	source.TypedSyncingSource[reconcile.Request]
}

func (*keeper) AccessSources() []source.Source { return []source.Source{signal{}} }

func (*keeper) ConfigFor(context.Context, *Foo) (*FooConfig, error) { return nil, ErrConfigNotFound }

func (k *keeper) Source(enqueue func(context.Context, *FooConfig) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	k.enqueue = enqueue

	return signal{}
}

// TestSources: which changes a controller hears of, as the builder says and as the domain and
// the providers know.
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
		"Channel": {"configurations come over it", func(*APIReconcilerBuilder[*Foo, *FooConfig]) {}, make(chan ctrlevent.GenericEvent), []string{foos, "func source"}, 0},
		"Watchers": {"access and configurations", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(&keeper{}).ConfigSource(&keeper{})
		}, nil, []string{foos, signals, signals}, 0},
		"References": {"to Secrets and ConfigMaps, in their namespaces", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.Reconciler(&watcher{}).SecretNamespace("secrets").ConfigMapNamespace("maps")
		}, nil, []string{foos, names + "[v1 Secret]", names + "[v1 ConfigMap]"}, 2},
		"NoNamespace": {"nobody says where Secrets are", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.Reconciler(&watcher{}).ConfigMapNamespace("maps")
		}, nil, []string{foos, names + "[v1 ConfigMap]"}, 1},
		"NoWatcher": {"the domain does not care for any", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.SecretNamespace("secrets").ConfigMapNamespace("maps")
		}, nil, []string{foos}, 0},
		"All": {"in this order", func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(&keeper{}).ConfigSource(&keeper{}).Reconciler(&watcher{}).SecretNamespace("secrets").ConfigMapNamespace("maps")
		}, make(chan ctrlevent.GenericEvent), []string{foos, signals, "func source", signals, names + "[v1 Secret]", names + "[v1 ConfigMap]"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { tc.build(b.PlatformCluster(withCache(t))) }
			w.restart()
			m := newIdle(t)
			sources, err := w.r.sources(m, tc.updates)
			if diff := cmp.Diff(tc.want, kinds(sources)); diff != "" || err != nil || len(m.added) != tc.caches {
				t.Errorf("%s: got %v and %d caches, -want +got:\n%s", tc.reason, err, len(m.added), diff)
			}
		})
	}
}

// TestNamesHaveACacheOfTheirOwn: what is watched in a namespace of the platform shares
// everything but the cache with the platform cluster.
func TestNamesHaveACacheOfTheirOwn(t *testing.T) {
	w := newFakeWorld(t)
	platform := withCache(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.PlatformCluster(platform).Reconciler(&watcher{}).SecretNamespace("secrets")
	}
	w.restart()
	m := newIdle(t)
	_, err := w.r.references(m)
	w.Must(err)
	whole, names := platform.Cluster(), m.added[0].(cluster.Cluster)
	if names.GetCache() == whole.GetCache() || names.GetScheme() != whole.GetScheme() || names.GetHTTPClient() != whole.GetHTTPClient() || names.GetRESTMapper() != whole.GetRESTMapper() {
		t.Error("want another cache, and the same of everything else")
	}

	full := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"last": "all"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	short, err := nameOnly(full)
	if diff := cmp.Diff(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, short); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if other, err := nameOnly("other"); other != "other" || err != nil {
		t.Errorf("want anything else as it is, got %v, %v", other, err)
	}
}

// TestSetupFails: what cannot be set up says why, and takes no name from another attempt.
func TestSetupFails(t *testing.T) {
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
		"NoCache":           {w.home, nil, "the platform cluster has no cache: initialize its client"},
		"CacheRefused":      {withCache(t), refuses(true), "cannot watch the namespace secrets of the platform cluster: boom"},
		"ControllerRefused": {withCache(t), refuses(false), "cannot set up the controller refused: boom"},
	}
	for name, tc := range cases {
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.PlatformCluster(tc.platform).Reconciler(&watcher{}).SecretNamespace("secrets").ControllerOptions(controller.Options{SkipNameValidation: new(true)})
		}
		w.restart()
		m := newIdle(t)
		m.refuses = tc.refuses
		if err := w.r.SetupWithManager(m, "refused", nil); err == nil || err.Error() != tc.want {
			t.Errorf("%s: want %q, got %v", name, tc.want, err)
		}
	}
	w.restart()
	if err := w.r.SetupWithManager(newIdle(t), "", nil); err == nil || err.Error() != "cannot set up a controller without a name" || w.r.cached != nil {
		t.Errorf("without a name: got %v, and objects are read from %v", err, w.r.cached)
	}

	configs := func(c *clusters.Cluster) *ConfigReconciler[*FooConfig] {
		return NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).PlatformCluster(c).ProviderName("refused").
			UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	}
	m := newIdle(t)
	if err := configs(w.home).SetupWithManager(m); err == nil || err.Error() != "the platform cluster has no cache: initialize its client" {
		t.Errorf("configurations: got %v", err)
	}
	w.Must(configs(withCache(t)).SetupWithManager(m))
	const taken = "cannot set up the controller of the provider config: controller with name providerconfig-refused already exists"
	if err := configs(withCache(t)).SetupWithManager(m); err == nil || !strings.HasPrefix(err.Error(), taken) {
		t.Errorf("configurations: want %q, got %v", taken, err)
	}
}

// TestWhoSaysWhichConfig: the configuration of the controller's name is watched if there is
// nothing else that knows the configurations.
func TestWhoSaysWhichConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		empty  func() *FooConfig
		source ConfigSource[*Foo, *FooConfig]
		want   string
	}{
		"named":       {newFooConfig, nil, "*serviceprovider.selected[*github.com/moorage-dev/moorage/pkg/serviceprovider.Foo,*github.com/moorage-dev/moorage/pkg/serviceprovider.FooConfig]"},
		"sent":        {nil, nil, "*serviceprovider.remembered[*github.com/moorage-dev/moorage/pkg/serviceprovider.Foo,*github.com/moorage-dev/moorage/pkg/serviceprovider.FooConfig]"},
		"given":       {newFooConfig, &keeper{}, "*serviceprovider.keeper"},
		"given alone": {nil, &keeper{}, "*serviceprovider.keeper"},
	} {
		w := newFakeWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.EmptyConfigProvider(tc.empty).ConfigSource(tc.source).PlatformCluster(withCache(t)).ControllerOptions(controller.Options{SkipNameValidation: new(true)})
		}
		w.restart()
		w.Must(w.r.SetupWithManagerNamed(newIdle(t), "named"))
		if got := fmt.Sprintf("%T", w.r.configs); got != tc.want {
			t.Errorf("%s: want %s, got %s", name, tc.want, got)
		}
		if w.r.cached == nil {
			t.Errorf("%s: want objects read from the cache of the manager", name)
		}
		// A domain that watches Secrets is told the configuration that everybody has.
		w.Create(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "named"}})
		if got := w.r.currentConfig(t.Context()); (got == nil) != (name != "sent") {
			t.Errorf("%s: a watcher is told %v", name, got)
		}
	}
}

// start starts a source, and returns the queue that it fills.
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

// TestPredicates: those of the builder take the place of the default one.
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
		m := newIdle(t)
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

// TestChannel: a configuration that comes over it is known before objects are looked for that
// have to be looked at again.
func TestChannel(t *testing.T) {
	w := newFakeWorld(t)
	w.config = nil
	var known []string
	w.between(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		known = append(known, w.r.currentConfig(ctx).Image)

		return c.List(ctx, l, o...)
	}})
	f := w.create("foo")
	w.restart()
	updates := make(chan ctrlevent.GenericEvent)
	sources, err := w.r.sources(newIdle(t), updates)
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

// TestWatchersAreAsked: a domain is asked only for what it cares for, and told the
// configuration that everybody has.
func TestWatchersAreAsked(t *testing.T) {
	w := newFakeWorld(t)
	d := &mapper{}
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(d) }
	w.restart()
	if got := w.r.mapSecretToRequests()(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); got != nil {
		t.Errorf("want nothing for what is no Secret, got %v", got)
	}
	for name, tc := range map[string]struct {
		source ConfigSource[*Foo, *FooConfig]
		want   *FooConfig
	}{
		"over the channel": {nil, w.config},
		"of a source":      {StaticConfig[*Foo](&FooConfig{Image: "v2"}), &FooConfig{Image: "v2"}},
		"terminating":      {answer{w.config, ErrConfigTerminating}, nil},
	} {
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(tc.source) }
		w.restart()
		if diff := cmp.Diff(tc.want, w.r.currentConfig(t.Context())); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// passes returns what the metric says: passes by controller and outcome.
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

// TestPassesOfAController are counted under its name, by all that there are in a process.
func TestPassesOfAController(t *testing.T) {
	w := newFakeWorld(t)
	name := "counts-" + strings.ToLower(t.Name())
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ControllerOptions(controller.Options{SkipNameValidation: new(true)})
	}
	nobody := w.create("foo")
	w.Delete(nobody)
	before := passes(t)
	for range 2 {
		w.restart()
		w.Must(w.r.SetupWithManager(newIdle(t), name, nil))
		w.r.cached = nil
		w.steady(nobody)
	}
	key := "controller=" + name + " outcome=NothingToDo "
	if after := passes(t); after[key]-before[key] != 2 {
		t.Errorf("want two more, had %v, got %v", before, after)
	}
}

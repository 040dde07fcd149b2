package serviceprovider

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// recordingDomain is a domain that reports its calls, and records for which Secrets and ConfigMaps
// it was called.
type recordingDomain struct {
	wantedWatcher

	mu    sync.Mutex
	asked []string
	woken chan string
}

func (l *recordingDomain) CreateOrUpdate(
	_ context.Context, f *Foo, c *FooConfig, _ ClusterContext,
) (ctrl.Result, error) {
	StatusReady(f)
	l.woken <- f.Name + " with " + c.Image

	return ctrl.Result{}, nil
}

func (l *recordingDomain) record(o client.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, o.GetNamespace()+"/"+o.GetName())

	return o.GetName() == "wanted"
}

func (l *recordingDomain) IsReferencedSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) bool {
	return l.record(s)
}

func (l *recordingDomain) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, _ *FooConfig) bool {
	return l.record(m)
}

// next waits for the next value of a channel.
func next[T any](w *world, what string, from chan T) (got T) {
	w.Helper()
	wait.Until(w, what, func() bool {
		select {
		case got = <-from:
			return true
		default:
			return false
		}
	})

	return got
}

// TestWatches verifies with a manager that an object is reconciled when it, its configuration or a
// reference in the namespace changes, once each, with the configuration from the cache. A
// ConfigReconciler sends the configuration of its name.
func TestWatches(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	var sent test.Ledger
	access := rest.CopyConfig(plane)
	access.Wrap(sent.Wrap)
	platform := clusters.New("platform").WithRESTConfig(access)
	w.Must(platform.InitializeClient(scheme))
	t.Cleanup(platform.Close)
	config := &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns}, Image: "v1"}
	other := &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: elsewhere.ns}, Image: "other"}
	w.Create(config, other)

	m, err := ctrl.NewManager(plane, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.ns: {}},
		},
	})
	w.Must(err)
	w.Must(m.Add(platform.Cluster()))
	l := &recordingDomain{woken: make(chan string, 100)}
	w.config = nil
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.PlatformCluster(platform).Reconciler(l).EmptyConfigProvider(
			newFooConfig).SecretNamespace(w.ns).ConfigMapNamespace(w.ns)
	}
	w.restart()
	w.Must(w.r.SetupWithManagerNamed(m, w.ns))
	updates := make(chan ctrlevent.GenericEvent, 100)
	w.Must(
		NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(
			newFooConfig).PlatformCluster(platform).ProviderName(w.ns).UpdateChannel(updates).MustBuild().SetupWithManager(m))
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() { stop(); w.Must(<-ended) })

	var woken, images []string
	wakes := func(what string) { w.Helper(); woken = append(woken, next(w, what, l.woken)) }
	sends := func(what string) {
		w.Helper()
		if c, ok := next(w, what, updates).Object.(*FooConfig); ok {
			images = append(images, c.Name+" "+c.Image)
		}
	}
	sends("the configuration that is there")
	w.create("foo")
	wakes("the object is made")
	w.Change(other, func() { other.Image = "changed" })
	w.Change(config, func() { config.Image = "v2" })
	wakes("the configuration changes")
	sends("the configuration changes")
	for _, o := range []func(meta metav1.ObjectMeta) client.Object{
		func(meta metav1.ObjectMeta) client.Object { return &corev1.Secret{ObjectMeta: meta} },
		func(meta metav1.ObjectMeta) client.Object { return &corev1.ConfigMap{ObjectMeta: meta} },
	} {
		w.Create(
			o(metav1.ObjectMeta{Namespace: elsewhere.ns, Name: "wanted"}),
			o(metav1.ObjectMeta{Namespace: w.ns, Name: "idle"}))
		w.Create(o(metav1.ObjectMeta{Namespace: w.ns, Name: "wanted"}))
		wakes("what it refers to is made")
	}

	want := []string{"foo with v1", "foo with v2", "foo with v2", "foo with v2"}
	if diff := cmp.Diff(want, woken); diff != "" || len(l.woken) != 0 {
		t.Errorf("woken %d times more, -want +got:\n%s", len(l.woken), diff)
	}
	if diff := cmp.Diff([]string{w.ns + " v1", w.ns + " v2"}, images); diff != "" || len(updates) != 0 {
		t.Errorf("sent %d times more, -want +got:\n%s", len(updates), diff)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff([]string{
		w.ns + "/idle", w.ns + "/wanted", w.ns + "/idle", w.ns + "/wanted",
	}, withoutDefaults(w, l.asked)); diff != "" {
		t.Errorf("asked for: -want +got:\n%s", diff)
	}
	for _, r := range sent.All() {
		if r.Resource == "fooconfigs" && r.Name == "" && !r.Watch {
			t.Errorf("configurations were read past the cache: %+v", r)
		}
	}
}

// withoutDefaults removes the names that every namespace contains.
func withoutDefaults(w *world, names []string) (all []string) {
	for _, n := range names {
		if n != w.ns+"/kube-root-ca.crt" {
			all = append(all, n)
		}
	}

	return all
}

package kube_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	clientfeatures "k8s.io/client-go/features"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func (w *world) cluster(o kube.Options) *kube.Cluster {
	w.Helper()
	c, err := kube.NewCluster(w.scheme, o, w.kinds()...)
	w.Must(err)

	return c
}

// run starts something, and ends it with the test.
func (w *world) run(start func(context.Context) error) {
	w.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Errorf("it ended with %v", err)
		}
	})
}

// features is client-go's with one switched.
type features struct {
	clientfeatures.Gates

	watchList bool
}

func (f features) Enabled(key clientfeatures.Feature) bool {
	if key == clientfeatures.WatchListClient {
		return f.watchList
	}

	return f.Gates.Enabled(key)
}

// TestCacheFollows checks that the cache follows the stores through what ends watches, whichever way client-go reads.
func TestCacheFollows(t *testing.T) {
	gates := clientfeatures.FeatureGates()
	for name, watchList := range map[string]bool{"watch": true, "list": false} {
		t.Run(name, func(t *testing.T) {
			clientfeatures.ReplaceFeatureGates(features{gates, watchList})
			defer clientfeatures.ReplaceFeatureGates(gates)
			w := newWorld(t)
			w.Create(newVolume("a"))
			c := w.cluster(kube.Options{})
			w.Must(c.GetFieldIndexer().IndexField(t.Context(), &volume.Volume{}, "owner",
				func(o client.Object) []string {
					var names []string
					for _, ref := range o.GetOwnerReferences() {
						names = append(names, ref.Name)
					}

					return names
				}))
			w.run(c.Start)
			names := func(want ...string) func() bool {
				return func() bool {
					list := &volume.List{}
					if c.GetClient().List(t.Context(), list) != nil || len(list.Items) != len(want) {
						return false
					}
					have := map[string]bool{}
					for _, v := range list.Items {
						have[v.Name] = true
					}
					for _, name := range want {
						if !have[name] {
							return false
						}
					}

					return true
				}
			}
			wait.Until(t, "the first list", names("a"))
			owned := newVolume("b")
			owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Thing", Name: "owner", UID: "1"}}
			w.Create(owned)
			wait.Until(t, "an addition", names("a", "b"))
			list := &volume.List{}
			w.Must(c.GetClient().List(t.Context(), list, client.MatchingFields{"owner": "owner"}))
			if len(list.Items) != 1 || list.Items[0].Name != "b" {
				t.Errorf("owned: %v", list.Items)
			}
			w.volumes.Vanish("default/b") // without a word
			w.volumes.Break()
			wait.Until(t, "what went unseen", names("a"))
			w.volumes.Recreate()
			w.Create(newVolume("c"))
			wait.Until(t, "another life of the store", names("c"))
			w.Must(c.GetClient().Get(t.Context(), client.ObjectKeyFromObject(newVolume("c")), newVolume("")))
		})
	}
}

func TestClientsOfACluster(t *testing.T) {
	w := newWorld(t)
	c := w.cluster(kube.Options{Uncached: []client.Object{&corev1.ConfigMap{}}})
	w.Must(c.GetClient().Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}))
	w.Must(c.GetClient().Create(t.Context(), newVolume("a")))
	key := client.ObjectKeyFromObject(newVolume("a"))

	// Nothing is started: what answers is not the cache.
	w.Must(c.GetClient().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "c"}, &corev1.ConfigMap{}))
	w.Must(c.GetAPIReader().Get(t.Context(), key, newVolume("")))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(volume.GroupVersion.WithKind("Volume"))
	w.Must(c.GetClient().Get(t.Context(), key, u))
	var notStarted *cache.ErrCacheNotStarted
	if err := c.GetClient().Get(t.Context(), key, newVolume("")); !errors.As(err, &notStarted) {
		t.Errorf("got %v: volumes are read from the cache", err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.GetConfig().Host, http.NoBody)
	w.Must(err)
	if answer, err := c.GetHTTPClient().Do(r); !errors.Is(err, kube.ErrNoAPIServer) {
		_ = answer.Body.Close()
		t.Errorf("got %v of an API server that there is not", err)
	}
}

func TestRestrictedCachesAreRefused(t *testing.T) {
	w := newWorld(t)
	some := labels.SelectorFromSet(labels.Set{"app": "x"})
	for name, o := range map[string]cache.Options{
		"namespaces": {DefaultNamespaces: map[string]cache.Config{"default": {}}},
		"labels":     {DefaultLabelSelector: some},
		"of a kind":  {ByObject: map[client.Object]cache.ByObject{&volume.Volume{}: {Label: some}}},
	} {
		if _, err := kube.NewCluster(w.scheme, kube.Options{Cache: o}, w.kinds()...); err == nil {
			t.Errorf("%s: the restriction would be overlooked", name)
		}
	}
}

func managerOptions() manager.Options {
	return manager.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	}
}

// TestManager checks that a controller that owns objects is run for them, and its events are stored.
func TestManager(t *testing.T) {
	w := newWorld(t)
	m, err := kube.NewManager(w.cluster(kube.Options{}), managerOptions())
	w.Must(err)
	passes := make(chan string, 100)
	recorder := m.GetEventRecorder("volumes")
	legacyRecorder := m.GetEventRecorderFor("volumes") //nolint:staticcheck // controllers that are not changed use it
	w.Must(ctrl.NewControllerManagedBy(m).For(&volume.Volume{}).Owns(&corev1.ConfigMap{}).Complete(reconcile.Func(
		func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			v := newVolume("")
			if err := m.GetClient().Get(ctx, r.NamespacedName, v); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			recorder.Eventf(v, nil, corev1.EventTypeNormal, "Seen", "Look", "seen %s", v.Name)
			legacyRecorder.Event(v, corev1.EventTypeNormal, "SeenBefore", "as ever")
			passes <- r.Name

			return reconcile.Result{}, nil
		})))
	w.run(m.Start)
	v := newVolume("a")
	w.Must(m.GetClient().Create(t.Context(), v))
	<-passes
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	w.Must(ctrl.SetControllerReference(v, c, w.scheme))
	for len(passes) > 0 {
		<-passes
	}
	w.Must(m.GetClient().Create(t.Context(), c))
	if got := <-passes; got != "a" {
		t.Errorf("a pass for %s", got)
	}
	wait.Until(t, "both events", func() bool {
		list := &eventsv1.EventList{}
		reasons := map[string]bool{}
		w.Must(m.GetAPIReader().List(t.Context(), list))
		for _, e := range list.Items {
			reasons[e.Reason] = e.Regarding.Name == "a" && e.Regarding.UID == v.UID
		}

		return reasons["Seen"] && reasons["SeenBefore"]
	})
}

// TestEventsAreLogged checks that events are logged if no kind of events is served.
func TestEventsAreLogged(t *testing.T) {
	w := newWorld(t)
	lines := make(chan string, 10)
	c, err := kube.NewCluster(w.scheme, kube.Options{Logger: funcr.New(func(_, line string) { lines <- line },
		funcr.Options{})}, kube.Serve(w.volumes))
	w.Must(err)
	c.GetEventRecorder("volumes").Eventf(newVolume("a"), nil, corev1.EventTypeNormal, "Seen", "Look",
		"seen %d times", 2)
	if line := <-lines; !strings.Contains(line, "seen 2 times") || !strings.Contains(line, `"name"="a"`) {
		t.Error(line)
	}
}

func TestWhatTakesAnAPIServerIsRefused(t *testing.T) {
	w := newWorld(t)
	o := managerOptions()
	o.LeaderElection, o.LeaderElectionID = true, "x"
	if _, err := kube.NewManager(w.cluster(kube.Options{}), o); err == nil {
		t.Error("there are no leases")
	}
	m, err := kube.NewManager(w.cluster(kube.Options{}), managerOptions())
	w.Must(err)
	_ = m.GetWebhookServer()
	if err := m.Start(t.Context()); !errors.Is(err, kube.ErrNoAdmission) {
		t.Errorf("got %v: nobody would call the webhooks", err)
	}
}

package managed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A discovered API server has no definitions, and says by discovery alone whether it serves volumes.
type discovered struct{ serves atomic.Bool }

// RoundTrip answers a request.
func (d *discovered) RoundTrip(r *http.Request) (*http.Response, error) {
	query, code := r.URL.Query(), http.StatusOK
	var answer any
	switch {
	case !strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		list := metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: volume.GroupVersion.String(),
		}
		if d.serves.Load() {
			list.APIResources = []metav1.APIResource{{Name: "volumes", Kind: "Volume", Namespaced: true}}
		}
		answer = list
	case query.Has("sendInitialEvents"):
		code, answer = http.StatusBadRequest, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: http.StatusBadRequest,
		}
	case query.Has("watch"):
		<-r.Context().Done() // nothing changes

		return nil, r.Context().Err()
	default:
		answer = apiextensionsv1.CustomResourceDefinitionList{
			TypeMeta: metav1.TypeMeta{
				Kind: "CustomResourceDefinitionList", APIVersion: "apiextensions.k8s.io/v1",
			}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []apiextensionsv1.CustomResourceDefinition{},
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}

	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// A goingCache loses the informer of a kind that is gone.
type goingCache struct{ *informertest.FakeInformers }

func (c goingCache) RemoveInformer(ctx context.Context, o client.Object) error {
	if _, typed := o.(*volume.Volume); !typed {
		return nil // no test has asked for another form of it
	}

	return c.FakeInformers.RemoveInformer(ctx, o)
}

// A gatedManager is one of an API server that may not serve volumes. It counts events.
type gatedManager struct {
	*wiredManager

	server   *discovered
	recorded atomic.Int64
}

func (m *gatedManager) GetConfig() *rest.Config                        { return &rest.Config{Host: "http://api"} }
func (m *gatedManager) GetHTTPClient() *http.Client                    { return &http.Client{Transport: m.server} }
func (m *gatedManager) GetCache() cache.Cache                          { return goingCache{m.informers} }
func (m *gatedManager) GetEventRecorder(string) recorder.EventRecorder { return counting{&m.recorded} }

type counting struct{ events *atomic.Int64 }

func (c counting) Eventf(_, _ apiruntime.Object, _, _, _, _ string, _ ...any) { c.events.Add(1) }

func (c counting) AnnotatedEventf(_, _ apiruntime.Object, _ map[string]string, _, _, _, _ string, _ ...any) {
	c.events.Add(1)
}

// A gated controller is what SetupGated makes for volumes, while their kind is served.
type gated struct {
	wired

	gm   *gatedManager
	made weak.Pointer[managed.Reconciler] // the last one
}

// newGated sets up the controller behind a gate, and starts that.
func newGated(t *testing.T, ro ...managed.ReconcilerOption) *gated {
	t.Helper()
	w := newWorld(t)
	w.cloud.Named = true
	m := &gatedManager{server: &discovered{}, wiredManager: &wiredManager{
		Manager:   &fake.Manager{Client: w.API, Scheme: w.API.Scheme()},
		informers: &informertest.FakeInformers{Scheme: w.API.Scheme()}, checks: map[string]healthz.Checker{},
	}}
	g := &gated{wired: wired{world: w, m: m.wiredManager, ended: make(chan error, 1)}, gm: m}
	gate, err := crdgate.New(m, crdgate.WithDiscoveryInterval(time.Second))
	w.Must(err)
	w.Must(managed.SetupGated(m, gate, volume.Kind, controller.Options{}, append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(w.cloud), managed.WithDeterministicExternalName(true),
		managed.WithClock(clock.RealClock{}),
		managed.WithRandom(func() float64 { return 0.5 }), managed.WithSpreadAfterRestart(false),
		func(r *managed.Reconciler) { g.made = weak.Make(r) },
	}, ro...)...))
	ctx, cancel := context.WithCancel(t.Context())
	g.stop = func() {
		cancel()
		if err := <-g.ended; err != nil {
			t.Errorf("the gate ended with %v", err)
		}
		synctest.Wait() // for what the end of its context ends
	}
	go func() { g.ended <- gate.Start(ctx) }()
	g.serves(false)

	return g
}

// serves lets the kind come or go, and waits until the gate has seen it.
func (g *gated) serves(serves bool) {
	g.Helper()
	for _, o := range []client.Object{&volume.Volume{}, &corev1.ConfigMap{}} {
		g.informer(o) // before several watches begin at a time
	}
	g.gm.server.serves.Store(serves)
	<-time.After(3 * time.Second)
	synctest.Wait()
}

// TestEventsOfAGatedKindWhileItIsServed verifies that the controller of a gated kind receives all events while the
// kind is served, none otherwise, and reconciles its objects when the kind returns.
func TestEventsOfAGatedKindWhileItIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		exists := func() float64 { return metric(t, registry, "moorage_managed_resource_exists") }
		h := &herald{}
		toVolume := handler.EnqueueRequestsFromMapFunc(func(context.Context,
			client.Object) []reconcile.Request {
			return []reconcile.Request{request()}
		})
		g := newGated(t, managed.WithWatch(&corev1.ConfigMap{}, toVolume), managed.WithExternalEvents(h, time.Hour),
			managed.WithMetricsRegisterer(registry))
		g.create(nil)
		added := func() { g.informer(&volume.Volume{}).Add(g.get()) }
		if calls := g.after(added); calls != "" {
			t.Errorf("the kind is not served: calls %q", calls)
		}
		for _, first := range []string{"Connect Observe Create Observe", look} {
			g.serves(true)
			if calls := g.after(added); calls != first {
				t.Errorf("a new object: calls %q, want %q", calls, first)
			}
			before, now := g.get(), g.get()
			now.Status.UsedBytes++
			now.ResourceVersion += "0"
			if calls := g.after(func() { g.informer(&volume.Volume{}).Update(before, now) }); calls != "" {
				t.Errorf("a status that was written: calls %q", calls)
			}
			if calls := g.after(func() { g.informer(&corev1.ConfigMap{}).Add(&corev1.ConfigMap{}) }); calls != look {
				t.Errorf("an event of what is watched besides: calls %q", calls)
			}
			if calls := g.after(func() { h.to.Changed(key.Name) }); calls != look {
				t.Errorf("a change that the external system tells: calls %q", calls)
			}
			if exists() != 1 {
				t.Errorf("%v objects exist", exists())
			}
			g.serves(false)
			begun, ended := h.counts()
			if calls := g.after(func() { <-time.After(time.Hour) }); calls != "" || begun != ended || exists() != 0 {
				t.Errorf("the kind is gone: calls %q, subscribed %d times, ended %d times, %v objects exist", calls,
					begun, ended, exists())
			}
		}
		g.stop()
	})
}

// TestAGatedKindLooksAfterItsCalls verifies that the health check fails while calls block all workers of a gated
// kind, and that their objects report it.
func TestAGatedKindLooksAfterItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		name := managed.ControllerName(volume.GroupVersion.WithKind("Volume").GroupKind().String())
		check := g.m.checks[name]
		if check == nil || check(nil) != nil {
			t.Fatalf("checks %v, want one of %s that passes", g.m.checks, name)
		}
		back := make(chan struct{})
		g.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" {
				<-back
			}

			return nil
		}
		g.serves(true)
		g.create(nil)
		g.informer(&volume.Volume{}).Add(g.get())
		<-time.After(2 * time.Minute)
		g.condition("Synced", "False/CallOverdue")
		<-time.After(time.Hour)
		if check(nil) == nil {
			t.Error("no worker is free, and the process is called alive")
		}
		close(back)
		g.serves(false)
		if err := check(nil); err != nil {
			t.Errorf("the kind is gone: %v", err)
		}
		g.stop()
	})
}

// TestNothingIsLeftOfAGatedKind verifies that a removed kind leaves no sources, gate or restore detector entry.
func TestNothingIsLeftOfAGatedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detector := controller.NewRestoreDetector()
		g := newGated(t, managed.WithRestoreDetector(detector))
		g.serves(true)
		g.create(nil)
		g.informer(&volume.Volume{}).Add(g.get())
		synctest.Wait()
		pace := g.made.Value().Pace()
		for range 3 * event.DefaultBurst {
			pace.Event(&corev1.Pod{}, event.Normal("Attached", "in use"))
		}
		g.serves(false)
		reported := g.gm.recorded.Load()
		<-time.After(time.Hour)
		if now := g.gm.recorded.Load(); reported < event.DefaultBurst || now != reported {
			t.Errorf("%d events were told, and %d more when the kind was gone", reported, now-reported)
		}
		for range 3 {
			runtime.GC()
		}
		if g.made.Value() != nil {
			t.Error("the reconciler of a kind that is gone is kept")
		}
		g.stop()
		runtime.KeepAlive(detector)
	})
}

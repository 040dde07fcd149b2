package storecontroller

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	pkgcontroller "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// newCluster returns a cluster with ConfigMaps in memory.
func newCluster(t *testing.T) *kube.Cluster {
	t.Helper()
	c, err := kube.NewCluster(scheme.Scheme, kube.Options{Uncached: []client.Object{}},
		kube.Serve(memory.New[*kube.Envelope[*corev1.ConfigMap]]("maps")))
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestOwnsKubeShared checks that controllers of the same name share a cache if their kinds differ; otherwise New
// returns an error that names the solution.
func TestOwnsKubeShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newCluster(t)
		build := func(kind string) (*Controller[*thing], error) {
			return New(nil, "one-name", kind, store.NewInformer(newMemory("things"), store.InformerOptions{}),
				ReconcilerFunc[*thing](nil),
				Options{TypedOptions: skipNameValidation()}, OwnsKube(cluster.GetCache(), &corev1.ConfigMap{},
					WithClient(cluster.GetClient())))
		}
		links, err := build("link")
		if err != nil {
			t.Fatal(err)
		}
		volumes, err := build("volume")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build("link"); err == nil || !strings.Contains(err.Error(), "a cache each") {
			t.Errorf("a second controller of that name and kind: %v", err)
		}
		var running sync.WaitGroup
		defer running.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		running.Go(func() { _ = cluster.Start(ctx) })
		for _, kind := range []string{"link", "volume"} {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "of-" + kind}}
			SetOwner(obj, kind, "ns/a")
			if err := cluster.GetClient().Create(ctx, obj); err != nil {
				t.Fatal(err)
			}
		}
		cluster.GetCache().WaitForCacheSync(ctx)
		<-time.After(time.Second)
		for kind, c := range map[string]*Controller[*thing]{"link": links, "volume": volumes} {
			found, err := c.owned[0].listByOwner(ctx, "ns/a")
			if err != nil || len(found) != 1 || !strings.Contains(found[0].id, "/of-"+kind+"/") {
				t.Errorf("a controller of kind %s finds %+v, %v", kind, found, err)
			}
		}
	})
}

// TestReadsKube checks that the function maps both the old and the new state of an object; without a function no key is
// enqueued.
func TestReadsKube(t *testing.T) {
	of := func(_ context.Context, m *corev1.ConfigMap) []string { return strings.Fields(m.Data["of"]) }
	for name, tc := range map[string]struct {
		keys func(context.Context, *corev1.ConfigMap) []string
		want [][]string // after create, two updates, and delete
	}{
		"Function":   {keys: of, want: [][]string{{"a 1"}, {"a 1", "b gone"}, {"b gone"}, nil}},
		"NoFunction": {want: [][]string{nil, nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			var cluster *kube.Cluster
			inWorld(t, Options{}, func(w *world) {
				w.skipParts = true
				w.create("a", 1)
				cluster = newCluster(w.T)
				ctx, stop := context.WithCancel(w.Context())
				ended := make(chan error, 1)
				go func() { ended <- cluster.Start(ctx) }()
				w.Cleanup(func() { stop(); w.must(<-ended) })
			}, func(w *world) {
				w.advance(time.Second) // the cache has synced
				w.expectPasses("a 1")
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"},
					Data: map[string]string{"of": "a"}}
				c := cluster.GetClient()
				change := func(keys string) error { m.Data["of"] = keys; return c.Update(w.Context(), m) }
				for i, do := range []func() error{
					func() error { return c.Create(w.Context(), m) },
					func() error { return change("b") },
					func() error { return change("") },
					func() error { return c.Delete(w.Context(), m) },
				} {
					w.must(do())
					w.advance(time.Second)
					w.expectPasses(tc.want[i]...)
				}
			}, func(*world) Dependency { return ReadsKube(cluster.GetCache(), &corev1.ConfigMap{}, tc.keys) })
		})
	}
}

// A lock is held by another process until it is free.
type lock struct {
	resourcelock.Interface

	mu   sync.Mutex
	free bool
	held *resourcelock.LeaderElectionRecord
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held != nil:
		return l.held, []byte(l.held.RenewTime.String()), nil
	case l.free:
		return nil, nil, kerrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "it")
	default:
		now := metav1.Now()

		return &resourcelock.LeaderElectionRecord{HolderIdentity: "another", LeaseDurationSeconds: 15, RenewTime: now,
			AcquireTime: now}, []byte(now.String()), nil
	}
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = &r

	return nil
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return "me" }
func (l *lock) Describe() string   { return "a lock" }

// TestK5WarmUp checks that with warm-up, the queue is filled before the process leads, and no pass begins before that.
func TestK5WarmUp(t *testing.T) {
	for name, warm := range map[string]bool{"Warm": true, "Cold": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { warmUp(t, warm) })
		})
	}
}

func warmUp(t *testing.T, warm bool) {
	t.Helper()
	primaries, l, passes := newMemory("things"), &lock{}, make(chan string, 10)
	if _, err := primaries.Create(t.Context(), storetest.NewThing("a", 1)); err != nil {
		t.Fatal(err)
	}
	m, err := kube.NewManager(newCluster(t), manager.Options{
		LeaderElection: true, LeaderElectionID: "it", LeaderElectionResourceLockInterface: l,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var q workqueue.TypedRateLimitingInterface[Request]
	o := skipNameValidation()
	o.EnableWarmup = new(warm)
	o.NewQueue = func(name string,
		limiter workqueue.TypedRateLimiter[Request]) workqueue.TypedRateLimitingInterface[Request] {
		q = pkgcontroller.NewQueue(name, limiter)

		return q
	}
	_, err = New(m, "warm", "thing", store.NewInformer(primaries, store.InformerOptions{}),
		ReconcilerFunc[*thing](func(_ context.Context, key string, _ *thing, _ bool) (reconcile.Result, error) {
			passes <- key

			return reconcile.Result{}, nil
		}), Options{TypedOptions: o})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	defer func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	defer cancel()

	<-time.After(time.Minute)
	synctest.Wait()
	if got := q != nil && q.Len() == 1; got != warm || len(passes) != 0 {
		t.Errorf("before it leads: the queue is filled: %t, want %t; there were %d passes", got, warm, len(passes))
	}
	l.mu.Lock()
	l.free = true
	l.mu.Unlock()
	select {
	case key := <-passes:
		if key != "a" {
			t.Errorf("a pass over %s", key)
		}
	case <-time.After(time.Minute):
		t.Error("there is no pass after it leads")
	}
}

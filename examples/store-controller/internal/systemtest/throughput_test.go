package systemtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	ours "github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// workers is how many passes there are at a time, in both.
const workers = 8

// A done counts objects whose status is written. A pass may find that it was written although the write failed: a busy
// server may write it and respond too late.
type done struct {
	mu   sync.Mutex
	keys map[string]bool
	all  chan struct{}
	want int
}

func newDone(want int) *done {
	return &done{keys: map[string]bool{}, all: make(chan struct{}), want: want}
}

func (d *done) note(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.keys[key] {
		if d.keys[key] = true; len(d.keys) == d.want {
			close(d.all)
		}
	}
}

// measure creates objects, waits until each is reconciled, and returns the time that this takes.
func (d *done) measure(t *testing.T, create func(context.Context, int) error) time.Duration {
	t.Helper()
	begin := time.Now()
	many(t, d.want, create)
	select {
	case <-d.all:
	case <-wait.Context(t).Done():
		t.Fatal("not all were reconciled")
	}

	return time.Since(begin)
}

// TestThroughput creates objects in NATS, on one server and on three with three replicas, and in Kubernetes, with the
// same controller over each, which writes the status of each object once. Then, with an idle controller, it measures
// the latency of a change.
func TestThroughput(t *testing.T) {
	fmt.Printf("objects: %d\n", *primaries)
	kube := throughKubernetes(t)
	nats := throughStore(t, 1, "store")
	throughStore(t, 3, "three-nodes")
	if *bounds && nats > kube/2 {
		t.Errorf("%s is more than half of %s", nats, kube)
	}
}

func throughStore(t *testing.T, nodes int, name string) time.Duration {
	t.Helper()
	c, d := newCluster(t, nodes), newDone(*primaries)
	i := store.NewInformer[*foo.Foo](c.foos, store.InformerOptions{})
	var ctl *storecontroller.Controller[*foo.Foo]
	pass := func(ctx context.Context, key string, f *foo.Foo, found bool) (reconcile.Result, error) {
		if !found {
			return reconcile.Result{}, nil
		}
		if f.Status.AvailableReplicas == f.Spec.Replicas {
			d.note(key)

			return reconcile.Result{}, nil
		}
		f.Status.AvailableReplicas = f.Spec.Replicas
		_, err := ctl.Primaries().UpdateStatus(ctx, f)
		if err == nil {
			d.note(key)
		}

		return reconcile.Result{}, err
	}
	ctl, err := storecontroller.New(nil, "through-"+name, foo.Kind, i, storecontroller.ReconcilerFunc[*foo.Foo](pass),
		storecontroller.Options{
			Resync: -1, TypedOptions: controller.TypedOptions[storecontroller.Request]{MaxConcurrentReconciles: workers,
				SkipNameValidation: new(true)},
		})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = i.Start(ctx) })
	running.Go(func() { _ = ctl.Start(ctx) })
	defer running.Wait()
	defer cancel()
	must(t, i.WaitForSync(t.Context()))
	took := d.measure(t, c.create)
	fmt.Printf("create-to-reconciled-%s: %s\n", name, took.Round(time.Millisecond))
	latency(t, name, func(ctx context.Context, n int) (time.Duration, error) {
		f, err := c.foos.Get(ctx, key(n%*primaries))
		if err != nil {
			return 0, err
		}
		f.Metadata.Labels = map[string]string{"n": fmt.Sprint(n)}
		begin := time.Now()
		if f, err = c.foos.Update(ctx, f); err != nil {
			return 0, err // the controller may have written the status meanwhile
		}
		err = i.WaitForRevision(ctx, f.Metadata.Revision)

		return time.Since(begin), err
	})

	return took
}

// throughKubernetes does the same with ConfigMaps.
func throughKubernetes(t *testing.T) time.Duration {
	t.Helper()
	config, _, ns := kubernetesOf(t)
	mgr, err := manager.New(config, manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	must(t, err)
	d := newDone(*primaries)
	pass := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		m := &corev1.ConfigMap{}
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, m); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if m.Data["desired"] == "" {
			return reconcile.Result{}, nil
		}
		if m.Data["actual"] == m.Data["desired"] {
			d.note(m.Name)

			return reconcile.Result{}, nil
		}
		m.Data["actual"] = m.Data["desired"]
		err := mgr.GetClient().Update(ctx, m)
		if err == nil {
			d.note(m.Name)
		}

		return reconcile.Result{}, err
	})
	ctl, err := controller.New("through-kubernetes", mgr, controller.Options{
		Reconciler: pass, MaxConcurrentReconciles: workers, SkipNameValidation: new(true),
		NewQueue: ours.NewQueue[reconcile.Request],
	})
	must(t, err)
	must(t, ctl.Watch(source.Kind(mgr.GetCache(), &corev1.ConfigMap{},
		&handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{})))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = mgr.Start(ctx) })
	defer running.Wait()
	defer cancel()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}

	took := d.measure(t, func(ctx context.Context, n int) error {
		m := configMap(ns, n)
		m.Data = map[string]string{"desired": "1"}

		return client.IgnoreAlreadyExists(mgr.GetClient().Create(ctx, m))
	})
	fmt.Printf("create-to-reconciled-kubernetes: %s\n", took.Round(time.Millisecond))
	seen := &versions{seen: map[string]chan struct{}{}}
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	_, err = informer.AddEventHandler(seen.handler())
	must(t, err)
	latency(t, "kubernetes", func(ctx context.Context, n int) (time.Duration, error) {
		m := configMap(ns, n%*primaries)
		if err := mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return 0, err
		}
		m.Labels = map[string]string{"n": fmt.Sprint(n)}
		begin := time.Now()
		if err := mgr.GetClient().Update(ctx, m); err != nil {
			return 0, err
		}
		err := seen.wait(ctx, m.ResourceVersion)

		return time.Since(begin), err
	})

	return took
}

func configMap(ns string, n int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("foo%05d", n), Namespace: ns}}
}

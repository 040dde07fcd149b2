package systemtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// kubernetesOf returns an API server and a namespace in it.
func kubernetesOf(t *testing.T) (*rest.Config, *kubernetes.Clientset, string) {
	t.Helper()
	config, err := devcluster.Shared(t).RESTConfig()
	must(t, err)
	config.QPS, config.Burst = -1, 0
	kube, err := kubernetes.NewForConfig(config)
	must(t, err)
	ns, err := kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "store-"}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { _ = kube.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}) })

	return config, kube, ns.Name
}

// TestSample is the life of a Foo in NATS and its Deployment in Kubernetes.
func TestSample(t *testing.T) {
	t.Parallel() // it waits, most of the time
	c := newCluster(t, 1)
	_, kube, ns := kubernetesOf(t)
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(ns))
	sample := foo.NewController(c.foos, kube, ns, factory.Apps().V1().Deployments().Informer())
	stop, ended, errs := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	factory.Start(stop)
	go func() {
		defer close(ended)
		sample.Run(2, stop, errs)
	}()
	defer func() { close(stop); <-ended; factory.Shutdown() }()

	create := func(key, name string) {
		t.Helper()
		c.make(t, &foo.Foo{Metadata: store.Metadata{Key: key}, Spec: foo.Spec{DeploymentName: name, Replicas: 1}})
	}
	deployments := kube.AppsV1().Deployments(ns)
	has := func(name string, right func(*appsv1.Deployment) bool) {
		t.Helper()
		within(t, "the deployment "+name, func(ctx context.Context) error {
			d, err := deployments.Get(ctx, name, metav1.GetOptions{})
			if err == nil && !right(d) {
				err = errors.New("it is not as it should be")
			}

			return err
		})
	}
	create("ns/web", "web")
	has("web", func(d *appsv1.Deployment) bool {
		return *d.Spec.Replicas == 1 && d.Annotations["kumori/ownerkey"] == "ns/web" &&
			d.Annotations["kumori/ownerkind"] == "foo" &&
			d.Annotations[storecontroller.AnnotationKeyOwnerEpoch] != ""
	})
	within(t, "more replicas", func(ctx context.Context) error {
		f, err := c.foos.Get(ctx, "ns/web")
		if err != nil {
			return err
		}
		f.Spec.Replicas = 3
		_, err = c.foos.Update(ctx, f)

		return err
	})
	has("web", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 3 })
	first, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	must(t, err)
	must(t, deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	has("web", func(d *appsv1.Deployment) bool { return d.UID != first.UID })

	create("ns/thief", "web")
	within(t, "a refusal", func(ctx context.Context) error {
		f, err := c.foos.Get(ctx, "ns/thief")
		if err == nil && f.Status.Problem == "" {
			err = errors.New("nothing is said of it")
		}

		return err
	})
	has("web", func(d *appsv1.Deployment) bool { return d.Annotations["kumori/ownerkey"] == "ns/web" })

	c.drop(t, "ns/thief")
	c.drop(t, "ns/web")
	within(t, "no deployment", func(ctx context.Context) error {
		if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Errorf("it is there: %v", err)
		}

		return nil
	})
	select {
	case err := <-errs:
		t.Errorf("the controller reported: %v", err)
	default:
	}
}

// withManager runs a controller in a manager with leader election. It creates a ConfigMap for each Foo.
func withManager(t *testing.T, config *rest.Config, ns, id string, c *cluster) (stop func(), passes *ledger) {
	t.Helper()
	mgr, err := manager.New(config, manager.Options{
		LeaderElection: true, LeaderElectionID: "foos", LeaderElectionNamespace: ns, LeaderElectionReleaseOnCancel: true,
		// The leader releases its lease; on a busy machine it must not lose it before.
		LeaseDuration: new(5 * time.Minute), RenewDeadline: new(4 * time.Minute), RetryPeriod: new(500 * time.Millisecond),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	must(t, err)
	l := &ledger{passes: map[string]int{}}
	primary := store.NewInformer[*foo.Foo](c.foos, store.InformerOptions{})
	var ctl *storecontroller.Controller[*foo.Foo]
	pass := func(ctx context.Context, key string, f *foo.Foo, found bool) (reconcile.Result, error) {
		_, _ = l.Reconcile(ctx, key, f, found)
		if !found {
			return reconcile.Result{}, nil // left to the garbage collector
		}
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: f.Spec.DeploymentName, Namespace: ns}}
		ctl.SetOwner(m, f)

		return reconcile.Result{}, client.IgnoreAlreadyExists(mgr.GetClient().Create(ctx, m))
	}
	ctl, err = storecontroller.New(mgr, "foos-of-"+id, foo.Kind, primary, storecontroller.ReconcilerFunc[*foo.Foo](pass),
		storecontroller.Options{Resync: time.Second,
			TypedOptions: controller.TypedOptions[storecontroller.Request]{SkipNameValidation: new(true)}},
		storecontroller.OwnsKube(mgr.GetCache(), &corev1.ConfigMap{}))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("the manager of %s ended: %v", id, err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)

	return stop, l
}

// TestManagers: of two managers one works, and the other takes over when it ends; events of objects in Kubernetes
// enqueue their primaries; garbage of this store is collected, that of another store is not; and there are metrics.
func TestManagers(t *testing.T) {
	t.Parallel() // it waits, most of the time
	c := newCluster(t, 1)
	config, kube, ns := kubernetesOf(t)
	maps := kube.CoreV1().ConfigMaps(ns)
	exists := func(name string, want bool) {
		t.Helper()
		within(t, fmt.Sprintf("the ConfigMap %s: %t", name, want), func(ctx context.Context) error {
			_, err := maps.Get(ctx, name, metav1.GetOptions{})
			if want == (err == nil) && (err == nil || apierrors.IsNotFound(err)) {
				return nil
			}

			return errors.Errorf("it is otherwise: %v", err)
		})
	}
	create := func(key, name string) {
		t.Helper()
		c.make(t, &foo.Foo{Metadata: store.Metadata{Key: key}, Spec: foo.Spec{DeploymentName: name}})
	}
	stopOne, one := withManager(t, config, ns, "one", c)
	create("ns/a", "a")
	exists("a", true)
	_, two := withManager(t, config, ns, "two", c)
	must(t, maps.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	exists("a", true)

	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: ns}}
	storecontroller.Marks{}.Set(other, store.Owner{Kind: foo.Kind, Key: "ns/gone", Epoch: "another", Revision: 1})
	_, err := maps.Create(t.Context(), other, metav1.CreateOptions{})
	must(t, err)
	c.drop(t, "ns/a")
	exists("a", false)
	exists("other", true)

	if n := two.count(); n != 0 {
		t.Errorf("there were %d passes of the one that does not lead", n)
	}
	stopOne()
	before := one.count()
	create("ns/b", "b")
	exists("b", true)
	if one.count() != before || two.count() == 0 {
		t.Errorf("passes after the change of leaders: %d of the old one, %d of the new one", one.count()-before, two.count())
	}
	// A pass is counted once it has ended, which is after its writes can be seen.
	within(t, "passes are counted", func(context.Context) error { return reconciled("foos-of-two") })
}

// reconciled returns an error unless the metrics of controller-runtime count passes of the controller.
func reconciled(name string) error {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" && l.GetValue() == name && m.GetCounter().GetValue() > 0 {
					return nil
				}
			}
		}
	}

	return errors.Errorf("no passes of %s are counted", name)
}

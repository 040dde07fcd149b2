package systemtest

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// older runs the controller of the older shape, until stop is called.
func older(c *cluster, kube *kubernetes.Clientset, ns string) (stop func()) {
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(ns))
	sample := foo.NewController(c.foos, kube, ns, factory.Apps().V1().Deployments().Informer())
	stopped, ended, errs := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	factory.Start(stopped)
	go func() {
		defer close(ended)
		sample.Run(2, stopped, errs)
	}()

	return sync.OnceFunc(func() { close(stopped); <-ended; factory.Shutdown() })
}

// newer runs a controller of storecontroller.New, which uses the default marks, and deletes objects whose mark names a
// Foo that is gone.
func newer(t *testing.T, config *rest.Config, c *cluster, ns string) (stop func()) {
	t.Helper()
	mgr, err := manager.New(config, manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	must(t, err)
	var ctl *storecontroller.Controller[*foo.Foo]
	pass := func(ctx context.Context, key string, f *foo.Foo, found bool) (reconcile.Result, error) {
		d := &appsv1.Deployment{}
		if !found {
			return reconcile.Result{}, nil
		}
		if err := mgr.GetClient().Get(ctx, types.NamespacedName{Namespace: ns, Name: f.Spec.DeploymentName}, d); err != nil {
			return reconcile.Result{}, err
		}
		if !ctl.Owns(d, key) {
			return reconcile.Result{}, errors.Errorf("deployment %s is not of %s", d.Name, key)
		}
		d = d.DeepCopy()
		ctl.SetOwner(d, f)

		return reconcile.Result{}, mgr.GetClient().Update(ctx, d)
	}
	primary := store.NewInformer[*foo.Foo](c.foos, store.InformerOptions{})
	ctl, err = storecontroller.New(mgr, "foos-taken-over", foo.Kind, primary,
		storecontroller.ReconcilerFunc[*foo.Foo](pass),
		storecontroller.Options{
			TypedOptions: controller.TypedOptions[storecontroller.Request]{SkipNameValidation: new(true)},
		},
		storecontroller.OwnsKube(mgr.GetCache(), &appsv1.Deployment{}))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("the manager ended: %v", err)
		}
	})

	return sync.OnceFunc(func() { cancel(); running.Wait() })
}

// TestMarksThereAndBack: a controller with the default marks takes over the Deployment that a controller of the older
// shape has marked, and the reverse. The Deployment stays the same, and neither controller rejects it as not owned.
func TestMarksThereAndBack(t *testing.T) {
	t.Parallel() // it waits, most of the time
	c := newCluster(t, 1)
	config, kube, ns := kubernetesOf(t)
	c.make(t, &foo.Foo{Metadata: store.Metadata{Key: "ns/web"}, Spec: foo.Spec{DeploymentName: "web", Replicas: 1}})
	var first types.UID
	marked := func(by, not string) {
		t.Helper()
		within(t, "the marks "+by, func(ctx context.Context) error {
			d, err := kube.AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if first == "" {
				first = d.UID
			}
			for _, on := range []map[string]string{d.Labels, d.Annotations} {
				if _, both := on[not+"/ownerkind"]; on[by+"/ownerkind"] != foo.Kind || on[by+"/ownerkey"] == "" || both ||
					d.UID != first {
					return errors.Errorf("deployment %s, which was %s, has %v", d.UID, first, on)
				}
			}

			return nil
		})
	}
	stop := older(c, kube, ns)
	marked("kumori", "moorage.dev")
	stop()
	stop = newer(t, config, c, ns)
	defer func() { stop() }()
	marked("moorage.dev", "kumori")
	stop()
	stop = older(c, kube, ns)
	marked("kumori", "moorage.dev")
	f, err := c.foos.Get(t.Context(), "ns/web")
	must(t, err)
	if f.Status.Problem != "" {
		t.Errorf("it was refused in between: %s", f.Status.Problem)
	}
	c.drop(t, "ns/web")
	within(t, "no deployment", func(ctx context.Context) error {
		all, err := kube.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
		if err == nil && len(all.Items) > 0 {
			err = errors.Errorf("%d are left", len(all.Items))
		}

		return err
	})
}

package foo

import (
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/storecontroller/controllerruntime"
)

const namespace = "default"

// during calls a function while a controller runs, as one process would.
func during(t *testing.T, foos store.Store[*Foo], kube *fake.Clientset, do func()) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(kube, 0)
	c := NewController(foos, kube, namespace, factory.Apps().V1().Deployments().Informer())
	stop, ended, errs := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	factory.Start(stop)
	go func() {
		defer close(ended)
		c.Run(1, stop, errs)
	}()
	rest()
	do()
	rest()
	close(stop)
	<-ended
	factory.Shutdown()
	select {
	case err := <-errs:
		t.Errorf("the controller reported: %v", err)
	default:
	}
}

// rest waits until the controller is idle.
func rest() {
	<-time.After(time.Hour)
	synctest.Wait()
}

// TestStoreMadeAnewWhileAway: a controller that starts after its store was recreated keeps the deployments of the lost
// objects once it has observed them, those without a mark of the store too; and it deletes the deployment of a deleted
// object.
func TestStoreMadeAnewWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foos, kube := memory.New[*Foo]("foos"), fake.NewClientset()
		deployments := kube.AppsV1().Deployments(namespace)
		create := func(name string) {
			t.Helper()
			foo := &Foo{Metadata: store.Metadata{Key: name}, Spec: Spec{DeploymentName: name, Replicas: 1}}
			if _, err := foos.Create(t.Context(), foo); err != nil {
				t.Fatal(err)
			}
		}
		exist := func(name string, want bool) {
			t.Helper()
			_, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) || want != (err == nil) {
				t.Errorf("deployment %s: want %t, got error %v", name, want, err)
			}
		}
		for _, name := range []string{"lost", "deleted", "old"} {
			create(name)
		}
		during(t, foos, kube, func() {
			old, err := deployments.Get(t.Context(), "old", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			controllerruntime.SetOwner(old, Kind, "old")
			if _, err := deployments.Update(t.Context(), old, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		})
		if err := foos.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		during(t, foos, kube, func() { exist("deleted", false) })

		foos.Recreate()
		during(t, foos, kube, func() {
			create("lost") // created again, in the new store
			rest()
			exist("lost", true)
			exist("old", true)
			if err := foos.Delete(t.Context(), "lost"); err != nil {
				t.Fatal(err)
			}
		})
		exist("lost", false)
		exist("old", true)
	})
}

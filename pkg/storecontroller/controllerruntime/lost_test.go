package controllerruntime

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// watchConfigMaps lets the runtime watch those of Kubernetes.
func watchConfigMaps(w *world) {
	factory := informers.NewSharedInformerFactory(w.kube, 0)
	w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer())
	factory.Start(w.Context().Done())
	w.Cleanup(factory.Shutdown)
}

// configMap makes one that the function marks.
func (w *world) configMap(name string, mark func(obj metav1.Object)) {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	mark(obj)
	_, err := w.kube.CoreV1().ConfigMaps("default").Create(w.Context(), obj, metav1.CreateOptions{})
	w.must(err)
}

// part makes an entity of the owner.
func (w *world) part(key string, owner store.Owner) {
	w.Helper()
	obj := storetest.NewThing(key, 1)
	obj.Spec.Text, obj.Metadata.Owners = owner.Key, []store.Owner{owner}
	_, err := w.parts.Create(w.Context(), obj)
	w.must(err)
}

// TestStoreMadeAnewWhileAway: a controller deletes what was made for a primary when
// it is called with a key that is gone. After the store was made anew while nobody
// looked it is not called, for the sake of what the secondaries say; it is for what
// was deleted, and for what comes back.
func TestStoreMadeAnewWhileAway(t *testing.T) {
	inWorld(t, func(w *world) {
		watchConfigMaps(w)
		for _, key := range []string{"bymap", "bypart", "deleted"} {
			w.create(w.primaries, key, "")
		}
	}, func(w *world) {
		w.run()
		primary := func(key string) *thing {
			obj, err := w.primaries.Get(w.Context(), key)
			w.must(err)

			return obj
		}
		w.configMap("m", func(obj metav1.Object) { w.c.rt.SetOwner(obj, primary("bymap")) })
		w.part("p", w.c.rt.Owner(primary("bypart")))
		w.part("q", w.c.rt.Owner(primary("deleted")))
		w.pass(time.Second)
		w.end()

		w.must(w.primaries.Delete(w.Context(), "deleted"))
		w.set(func(c *custom) { c.calls = nil })
		w.build()
		w.run()
		w.pass(time.Hour)
		w.saw("garbage", "secondary m", "secondary p", "secondary q", "sync bymap", "sync bypart", "sync deleted")
		w.must(w.parts.Delete(w.Context(), "q")) // as the controller would have done
		w.pass(time.Second)
		w.end()

		w.primaries.Recreate()
		w.set(func(c *custom) { c.calls = nil })
		w.build()
		w.run()
		w.pass(time.Hour)
		w.saw("garbage", "secondary m", "secondary p")

		w.create(w.primaries, "bymap", "")
		w.pass(time.Second)
		w.saw("sync bymap")
		w.end()
	})
}

// TestSetOwner: marks say of which store a primary is, and stay as they are while it
// is that store.
func TestSetOwner(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "a", "") }, func(w *world) {
		primary, err := w.primaries.Get(w.Context(), "a")
		w.must(err)
		obj := &corev1.ConfigMap{}
		w.c.rt.SetOwner(obj, primary)
		if owner, ok := ownerOf(obj); !ok || owner.Key != "a" || owner.Kind != "thing" || owner.Epoch != "0" {
			w.Errorf("before Run an object is marked with %+v", owner)
		}
		w.run()
		w.c.rt.SetOwner(obj, primary)
		first, _ := ownerOf(obj)
		if first.Epoch == "" || first.Revision != primary.Metadata.Revision {
			w.Errorf("an object is marked with %+v", first)
		}
		primary.Spec.Size++
		primary, err = w.primaries.Update(w.Context(), primary)
		w.must(err)
		w.c.rt.SetOwner(obj, primary)
		if again, _ := ownerOf(obj); again != first {
			w.Errorf("marks that were right, %+v, became %+v", first, again)
		}
		if o := w.c.rt.Owner(primary); o.Epoch != first.Epoch || o.Revision != primary.Metadata.Revision || o.UID != primary.Metadata.UID {
			w.Errorf("an entity is marked with %+v", o)
		}
		w.end()
	})
}

// TestUnmarked: what says nothing of the store is no reason to leave a controller
// uncalled: a fleet that changes over has nothing else.
func TestUnmarked(t *testing.T) {
	inWorld(t, func(w *world) {
		watchConfigMaps(w)
		w.configMap("m", func(obj metav1.Object) { SetOwner(obj, "thing", "gone") })
	}, func(w *world) {
		w.run()
		w.set(func(c *custom) {
			if !slices.Contains(c.calls, "sync gone") {
				w.Errorf("it was not called: %v", c.calls)
			}
		})
		w.end()
	})
}

// TestInformersReconnect: after a watch that told nothing and broke, a controller is told of
// what went, came or changed meanwhile, and not of what did not.
func TestInformersReconnect(t *testing.T) {
	var mute *watch.RaceFreeFakeWatcher
	mark := func(version string) func(metav1.Object) {
		return func(obj metav1.Object) {
			obj.SetResourceVersion(version)
			SetOwner(obj, "thing", "of-"+obj.GetName())
		}
	}
	inWorld(t, func(w *world) {
		w.kube.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
			mute = watch.NewRaceFreeFake()

			return true, mute, nil
		})
		for _, name := range []string{"stays", "goes", "changes"} {
			w.configMap(name, mark("1"))
		}
		watchConfigMaps(w) // lists them, and is told of nothing after that
	}, func(w *world) {
		w.run()
		w.pass(time.Second)
		w.saw("garbage", "secondary changes", "secondary goes", "secondary stays", "sync of-changes", "sync of-goes", "sync of-stays")
		maps := w.kube.CoreV1().ConfigMaps("default")
		w.must(maps.Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		w.configMap("comes", mark("2"))
		changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "changes", Namespace: "default"}}
		mark("3")(changed)
		_, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{})
		w.must(err)
		w.pass(time.Minute)
		w.saw()
		mute.Error(&kerrors.NewResourceExpired("it is too old").ErrStatus)
		mute.Stop()
		w.pass(time.Minute)
		w.saw("secondary changes", "secondary comes", "secondary goes", "sync of-changes", "sync of-comes", "sync of-goes")
		w.end()
	})
}

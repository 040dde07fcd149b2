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

// watchConfigMaps adds an informer for ConfigMaps.
func watchConfigMaps(w *world) {
	factory := informers.NewSharedInformerFactory(w.kube, 0)
	w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer())
	factory.Start(w.Context().Done())
	w.Cleanup(factory.Shutdown)
}

// configMap creates a ConfigMap that the function marks.
func (w *world) configMap(name string, mark func(obj metav1.Object)) {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	mark(obj)
	_, err := w.kube.CoreV1().ConfigMaps("default").Create(w.Context(), obj, metav1.CreateOptions{})
	w.must(err)
}

// part creates an entity with an owner.
func (w *world) part(key string, owner store.Owner) {
	w.Helper()
	obj := storetest.NewThing(key, 1)
	obj.Spec.Text, obj.Metadata.Owners = owner.Key, []store.Owner{owner}
	_, err := w.parts.Create(w.Context(), obj)
	w.must(err)
}

// TestStoreRecreatedWhileStopped checks that if a store was created again while the controller was stopped, SyncHandler
// is not called for a missing primary whose secondaries name the lost store. It is called for deleted primaries, and
// for primaries that exist again.
func TestStoreRecreatedWhileStopped(t *testing.T) {
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
		w.advance(time.Second)
		w.end()

		w.must(w.primaries.Delete(w.Context(), "deleted"))
		w.set(func(c *custom) { c.calls = nil })
		w.build()
		w.run()
		w.advance(time.Hour)
		w.expectCalls("garbage", "secondary m", "secondary p", "secondary q", "sync bymap", "sync bypart", "sync deleted")
		w.must(w.parts.Delete(w.Context(), "q")) // as a real controller would do
		w.advance(time.Second)
		w.end()

		w.primaries.Recreate()
		w.set(func(c *custom) { c.calls = nil })
		w.build()
		w.run()
		w.advance(time.Hour)
		w.expectCalls("garbage", "secondary m", "secondary p")

		w.create(w.primaries, "bymap", "")
		w.advance(time.Second)
		w.expectCalls("sync bymap")
		w.end()
	})
}

// TestSetOwner checks that marks have the epoch of the store, and do not change while it is the same store.
func TestSetOwner(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "a", "") }, func(w *world) {
		primary, err := w.primaries.Get(w.Context(), "a")
		w.must(err)
		obj := &corev1.ConfigMap{}
		w.c.rt.SetOwner(obj, primary)
		if owner, ok := ownerOf(obj); !ok || owner.Key != "a" || owner.Kind != "thing" || owner.Epoch != "0" {
			w.Errorf("before Run the marks of an object are %+v", owner)
		}
		w.run()
		w.c.rt.SetOwner(obj, primary)
		first, _ := ownerOf(obj)
		if first.Epoch == "" || first.Revision != primary.Metadata.Revision {
			w.Errorf("the marks of an object are %+v", first)
		}
		primary.Spec.Size++
		primary, err = w.primaries.Update(w.Context(), primary)
		w.must(err)
		w.c.rt.SetOwner(obj, primary)
		if again, _ := ownerOf(obj); again != first {
			w.Errorf("valid marks %+v became %+v", first, again)
		}
		if o := w.c.rt.Owner(primary); o.Epoch != first.Epoch || o.Revision != primary.Metadata.Revision ||
			o.UID != primary.Metadata.UID {
			w.Errorf("the owner of an entity is %+v", o)
		}
		w.end()
	})
}

// TestMarksWithoutEpoch: SyncHandler is called for a missing primary whose secondaries have no epoch, as those of a
// migrated
// fleet.
func TestMarksWithoutEpoch(t *testing.T) {
	inWorld(t, func(w *world) {
		watchConfigMaps(w)
		w.configMap("m", func(obj metav1.Object) { SetOwner(obj, "thing", "gone") })
	}, func(w *world) {
		w.run()
		w.set(func(c *custom) {
			if !slices.Contains(c.calls, "sync gone") {
				w.Errorf("SyncHandler was not called: %v", c.calls)
			}
		})
		w.end()
	})
}

// TestInformersRelist checks that after a watch that broke without events, HandleSecondary is called with objects that
// were created, changed or deleted meanwhile, and not with the others.
func TestInformersRelist(t *testing.T) {
	var watcher *watch.RaceFreeFakeWatcher
	mark := func(version string) func(metav1.Object) {
		return func(obj metav1.Object) {
			obj.SetResourceVersion(version)
			SetOwner(obj, "thing", "of-"+obj.GetName())
		}
	}
	inWorld(t, func(w *world) {
		w.kube.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
			watcher = watch.NewRaceFreeFake()

			return true, watcher, nil
		})
		for _, name := range []string{"stays", "goes", "changes"} {
			w.configMap(name, mark("1"))
		}
		watchConfigMaps(w) // lists them, and receives no event after that
	}, func(w *world) {
		w.run()
		w.advance(time.Second)
		w.expectCalls("garbage", "secondary changes", "secondary goes", "secondary stays", "sync of-changes", "sync of-goes",
			"sync of-stays")
		maps := w.kube.CoreV1().ConfigMaps("default")
		w.must(maps.Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		w.configMap("comes", mark("2"))
		changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "changes", Namespace: "default"}}
		mark("3")(changed)
		_, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{})
		w.must(err)
		w.advance(time.Minute)
		w.expectCalls()
		watcher.Error(&kerrors.NewResourceExpired("it is too old").ErrStatus)
		watcher.Stop()
		w.advance(time.Minute)
		w.expectCalls("secondary changes", "secondary comes", "secondary goes", "sync of-changes", "sync of-comes",
			"sync of-goes")
		w.end()
	})
}

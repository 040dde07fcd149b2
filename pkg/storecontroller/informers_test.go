package storecontroller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/store"
)

// TestOwnsInformer checks that objects of an informer of client-go enqueue the primaries that their marks name, and
// show the store of their primary.
func TestOwnsInformer(t *testing.T) {
	kube := fake.NewClientset()
	maps := kube.CoreV1().ConfigMaps("default")
	mark := func(name, kind, epoch string) *corev1.ConfigMap {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		Marks{}.Set(obj, store.Owner{Kind: kind, Key: "ns/a", Epoch: epoch, Revision: 1})

		return obj
	}
	informer := func(w *world) Dependency {
		factory := informers.NewSharedInformerFactory(kube, 0)
		i := factory.Core().V1().ConfigMaps().Informer()
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)

		return OwnsInformer(i)
	}
	create := func(w *world, obj *corev1.ConfigMap) *corev1.ConfigMap {
		out, err := maps.Create(w.Context(), obj, metav1.CreateOptions{})
		w.must(err)
		w.settle()

		return out
	}
	inWorld(t, Options{}, func(w *world) { w.skipParts = true; w.create("ns/a", 1) }, func(w *world) {
		w.expectPasses("ns/a 1")
		one := create(w, mark("one", "thing", "0"))
		w.expectPasses("ns/a 1")
		create(w, mark("other", "another", ""))
		w.expectPasses()

		one.Data, one.ResourceVersion = map[string]string{"k": "v"}, "7"
		_, err := maps.Update(t.Context(), one, metav1.UpdateOptions{})
		w.must(err)
		w.settle()
		w.expectPasses("ns/a 1")
		w.must(maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))
		w.settle()
		w.expectPasses("ns/a 1")

		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.settle()
		w.expectPasses("ns/a gone")
		create(w, mark("lost", "thing", "before"))
		w.expectPasses()
		w.events.expect(t, "Warning PrimaryLost")
	}, informer)
}

// TestOwnsInformerRelist checks that after a watch that broke without events, objects that were created, changed or
// deleted meanwhile enqueue their primaries; unchanged objects do not.
func TestOwnsInformerRelist(t *testing.T) {
	kube := fake.NewClientset()
	maps := kube.CoreV1().ConfigMaps("default")
	var watcher *watch.RaceFreeFakeWatcher
	kube.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		watcher = watch.NewRaceFreeFake()

		return true, watcher, nil
	})
	mark := func(name, version string) *corev1.ConfigMap {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", ResourceVersion: version}}
		SetOwner(obj, "thing", "of-"+name)

		return obj
	}
	inWorld(t, Options{}, func(w *world) {
		w.skipParts = true
		for _, name := range []string{"stays", "goes", "changes"} {
			w.create("of-"+name, 1)
			_, err := maps.Create(w.Context(), mark(name, "1"), metav1.CreateOptions{})
			w.must(err)
		}
		w.create("of-comes", 1)
	}, func(w *world) {
		w.expectPasses("of-changes 1", "of-comes 1", "of-goes 1", "of-stays 1")
		w.must(maps.Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		_, err := maps.Create(t.Context(), mark("comes", "2"), metav1.CreateOptions{})
		w.must(err)
		_, err = maps.Update(t.Context(), mark("changes", "3"), metav1.UpdateOptions{})
		w.must(err)
		w.advance(time.Minute)
		w.expectPasses()
		watcher.Error(&kerrors.NewResourceExpired("it is too old").ErrStatus)
		watcher.Stop()
		w.advance(time.Minute)
		w.expectPasses("of-changes 1", "of-comes 1", "of-goes 1")
	}, func(w *world) Dependency {
		factory := informers.NewSharedInformerFactory(kube, 0)
		i := factory.Core().V1().ConfigMaps().Informer()
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)

		return OwnsInformer(i)
	})
}

// TestOwnsInformerShared checks that controllers of any names share an informer of client-go, and each finds the
// objects of its own primaries.
func TestOwnsInformerShared(t *testing.T) {
	i := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().ConfigMaps().Informer()
	add := func(name, prefix, kind string) {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		Marks{Prefix: prefix}.Set(obj, store.Owner{Kind: kind, Key: "ns/a"})
		if err := i.GetIndexer().Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	add("of-link", "", "link")
	add("of-volume", "", "volume")
	add("of-others-link", "example.com", "link")
	for _, tc := range []struct{ prefix, kind, want string }{
		{"", "link", "of-link"}, {"", "volume", "of-volume"}, {"example.com", "link", "of-others-link"}, {"", "link",
			"of-link"},
	} {
		c, err := New(nil, "one-name", tc.kind, store.NewInformer(newMemory("things"), store.InformerOptions{}),
			ReconcilerFunc[*thing](nil), Options{Marks: Marks{Prefix: tc.prefix},
				TypedOptions: skipNameValidation()}, OwnsInformer(i))
		if err != nil {
			t.Fatalf("a controller of kind %s: %v", tc.kind, err)
		}
		found, err := c.owned[0].listByOwner(t.Context(), "ns/a")
		if err != nil || len(found) != 1 || !strings.Contains(found[0].id, "/"+tc.want+"/") {
			t.Errorf("a controller of kind %s, with marks of %q, finds %+v, %v", tc.kind, tc.prefix, found, err)
		}
	}
}

// TestObject checks that objects and tombstones are accepted.
func TestObject(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	cases := map[string]struct {
		reason  string
		obj     any
		want    string
		wantErr bool
	}{
		"Object": {reason: "An object is returned unchanged.", obj: obj, want: "a"},
		"Tombstone": {reason: "A tombstone has the last known state.",
			obj: toolscache.DeletedFinalStateUnknown{Key: "a", Obj: obj}, want: "a"},
		"BadTombstone": {
			reason: "A tombstone may have no state.", obj: toolscache.DeletedFinalStateUnknown{Key: "a"}, wantErr: true,
		},
		"Text": {reason: "Anything else is an error.", obj: "a", wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Object(tc.obj)
			if (err != nil) != tc.wantErr {
				t.Fatalf("%s\nObject(...): got error %v", tc.reason, err)
			}
			if err == nil && got.GetName() != tc.want {
				t.Errorf("%s\nObject(...): got %s, want %s", tc.reason, got.GetName(), tc.want)
			}
		})
	}
}

// TestSourceSyncedAfterInitialObjects checks that all existing objects are enqueued when the source has synced.
func TestSourceSyncedAfterInitialObjects(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.skipParts = true
		for _, key := range []string{"a", "b", "c"} {
			w.create(key, 1)
		}
	}, func(w *world) {
		w.mu.Lock()
		got := slices.Sorted(slices.Values(w.passes))
		w.mu.Unlock()
		if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, got); diff != "" {
			t.Errorf("passes: -want, +got:\n%s", diff)
		}
		w.advance(time.Minute)
	})
}

// TestOwnsInformerWithoutResourceVersion checks objects of client-go's fake clientset, which have no resourceVersion. A
// change also enqueues the primary there, and a resync of the informer does not.
func TestOwnsInformerWithoutResourceVersion(t *testing.T) {
	clients := fake.NewClientset()
	maps := clients.CoreV1().ConfigMaps("default")
	inWorld(t, Options{}, func(w *world) {
		w.skipParts = true
		w.create("a", 1)
		_, err := maps.Create(w.Context(), newConfigMap("m", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}),
			metav1.CreateOptions{})
		w.must(err)
	}, func(w *world) {
		w.expectPasses("a 1")
		m, err := maps.Get(w.Context(), "m", metav1.GetOptions{})
		w.must(err)
		if m.ResourceVersion != "" {
			t.Fatalf("the clientset gives the version %q", m.ResourceVersion)
		}
		m.Data = map[string]string{"k": "v"}
		_, err = maps.Update(w.Context(), m, metav1.UpdateOptions{})
		w.must(err)
		w.settle()
		w.expectPasses("a 1")
		w.advance(5 * time.Minute) // the informer resyncs
		w.expectPasses()
	}, func(w *world) Dependency {
		factory := informers.NewSharedInformerFactory(clients, time.Minute)
		i := factory.Core().V1().ConfigMaps().Informer()
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)

		return OwnsInformer(i)
	})
}

// TestChanged checks that an update is a change if the resourceVersion differs, or the object if it has none.
func TestChanged(t *testing.T) {
	obj := func(version, data string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version},
			Data: map[string]string{"k": data}}
	}
	for name, tc := range map[string]struct {
		old, now any
		want     bool
	}{
		"Version":     {old: obj("1", "x"), now: obj("2", "x"), want: true},
		"SameVersion": {old: obj("1", "x"), now: obj("1", "x")},
		"NoVersion":   {old: obj("", "x"), now: obj("", "y"), want: true},
		"Repeated":    {old: obj("", "x"), now: obj("", "x")},
		"NoObject":    {old: "x", now: "x", want: true},
	} {
		if got := Changed(tc.old, tc.now); got != tc.want {
			t.Errorf("%s: Changed(...): got %t", name, got)
		}
	}
}

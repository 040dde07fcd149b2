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

// TestOwnsInformer: objects that an informer of client-go watches lead to the
// primaries they are marked with, and say of which store those were.
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
		w.rest()

		return out
	}
	inWorld(t, Options{}, func(w *world) { w.lazy = true; w.create("ns/a", 1) }, func(w *world) {
		w.saw("ns/a 1")
		one := create(w, mark("one", "thing", "0"))
		w.saw("ns/a 1")
		create(w, mark("other", "another", ""))
		w.saw()

		one.Data, one.ResourceVersion = map[string]string{"k": "v"}, "7"
		_, err := maps.Update(t.Context(), one, metav1.UpdateOptions{})
		w.must(err)
		w.rest()
		w.saw("ns/a 1")
		w.must(maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))
		w.rest()
		w.saw("ns/a 1")

		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.rest()
		w.saw("ns/a gone")
		create(w, mark("lost", "thing", "before"))
		w.saw()
		w.events.said(t, "Warning PrimaryLost")
	}, informer)
}

// TestOwnsInformerReconnects: after a watch that told nothing and broke, what went, came or
// changed meanwhile leads to its primary; what did not leads nowhere.
func TestOwnsInformerReconnects(t *testing.T) {
	kube := fake.NewClientset()
	maps := kube.CoreV1().ConfigMaps("default")
	var mute *watch.RaceFreeFakeWatcher
	kube.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		mute = watch.NewRaceFreeFake()

		return true, mute, nil
	})
	mark := func(name, version string) *corev1.ConfigMap {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", ResourceVersion: version}}
		SetOwner(obj, "thing", "of-"+name)

		return obj
	}
	inWorld(t, Options{}, func(w *world) {
		w.lazy = true
		for _, name := range []string{"stays", "goes", "changes"} {
			w.create("of-"+name, 1)
			_, err := maps.Create(w.Context(), mark(name, "1"), metav1.CreateOptions{})
			w.must(err)
		}
		w.create("of-comes", 1)
	}, func(w *world) {
		w.saw("of-changes 1", "of-comes 1", "of-goes 1", "of-stays 1")
		w.must(maps.Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		_, err := maps.Create(t.Context(), mark("comes", "2"), metav1.CreateOptions{})
		w.must(err)
		_, err = maps.Update(t.Context(), mark("changes", "3"), metav1.UpdateOptions{})
		w.must(err)
		w.pass(time.Minute)
		w.saw()
		mute.Error(&kerrors.NewResourceExpired("it is too old").ErrStatus)
		mute.Stop()
		w.pass(time.Minute)
		w.saw("of-changes 1", "of-comes 1", "of-goes 1")
	}, func(w *world) Dependency {
		factory := informers.NewSharedInformerFactory(kube, 0)
		i := factory.Core().V1().ConfigMaps().Informer()
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)

		return OwnsInformer(i)
	})
}

// TestOwnsInformerShared: several controllers share an informer of client-go, whatever
// their names: each finds what was made for its own primaries, and so does one that comes
// after another one of its name.
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
		{"", "link", "of-link"}, {"", "volume", "of-volume"}, {"example.com", "link", "of-others-link"}, {"", "link", "of-link"},
	} {
		c, err := New(nil, "one-name", tc.kind, store.NewInformer(newMemory("things"), store.InformerOptions{}),
			ReconcilerFunc[*thing](nil), Options{Marks: Marks{Prefix: tc.prefix}, TypedOptions: unnamed()}, OwnsInformer(i))
		if err != nil {
			t.Fatalf("a controller of kind %s: %v", tc.kind, err)
		}
		found, err := c.owned[0].ofOwner(t.Context(), "ns/a")
		if err != nil || len(found) != 1 || !strings.Contains(found[0].id, "/"+tc.want+"/") {
			t.Errorf("a controller of kind %s, with marks of %q, finds %+v, %v", tc.kind, tc.prefix, found, err)
		}
	}
}

func TestObject(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	cases := map[string]struct {
		reason  string
		obj     any
		want    string
		wantErr bool
	}{
		"Object":       {reason: "An object is itself.", obj: obj, want: "a"},
		"Tombstone":    {reason: "Of one whose deletion was missed, the last state is known.", obj: toolscache.DeletedFinalStateUnknown{Key: "a", Obj: obj}, want: "a"},
		"BadTombstone": {reason: "Or it is not.", obj: toolscache.DeletedFinalStateUnknown{Key: "a"}, wantErr: true},
		"Text":         {reason: "Anything else is an error.", obj: "a", wantErr: true},
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

// TestSourceOrder: what there was is in the queue when the source has synced.
func TestSourceOrder(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.lazy = true
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
		w.pass(time.Minute)
	})
}

// TestOwnsInformerWithoutVersions: the fake clientset of client-go gives no resourceVersion: a
// change leads to a pass there as well, and what an informer repeats does not.
func TestOwnsInformerWithoutVersions(t *testing.T) {
	clients := fake.NewClientset()
	maps := clients.CoreV1().ConfigMaps("default")
	inWorld(t, Options{}, func(w *world) {
		w.lazy = true
		w.create("a", 1)
		_, err := maps.Create(w.Context(), mapOf("m", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}), metav1.CreateOptions{})
		w.must(err)
	}, func(w *world) {
		w.saw("a 1")
		m, err := maps.Get(w.Context(), "m", metav1.GetOptions{})
		w.must(err)
		if m.ResourceVersion != "" {
			t.Fatalf("the clientset gives the version %q", m.ResourceVersion)
		}
		m.Data = map[string]string{"k": "v"}
		_, err = maps.Update(w.Context(), m, metav1.UpdateOptions{})
		w.must(err)
		w.rest()
		w.saw("a 1")
		w.pass(5 * time.Minute) // the informer repeats what it has
		w.saw()
	}, func(w *world) Dependency {
		factory := informers.NewSharedInformerFactory(clients, time.Minute)
		i := factory.Core().V1().ConfigMaps().Informer()
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)

		return OwnsInformer(i)
	})
}

// TestChanged: an update is one if the version says so, or the object where it has none.
func TestChanged(t *testing.T) {
	obj := func(version, data string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}, Data: map[string]string{"k": data}}
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

package storecontroller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestOwnsObject: whether an object was made for a primary is one question to the controller,
// whatever its marks are.
func TestOwnsObject(t *testing.T) {
	link := store.Owner{Kind: "thing", Key: "ns/a"}
	for name, tc := range map[string]struct {
		reason string
		marks  Marks // of the controller
		by     Marks // of the object
		owner  store.Owner
		want   bool
	}{
		"Own":     {reason: "It is marked with that primary.", owner: link, want: true},
		"Prefix":  {reason: "The marks of the options count.", marks: Marks{Prefix: "example.org"}, by: Marks{Prefix: "example.org"}, owner: link, want: true},
		"Former":  {reason: "What was marked before is owned still.", by: Marks{Prefix: FormerMarkPrefix}, owner: link, want: true},
		"Unknown": {reason: "Other marks are not.", by: Marks{Prefix: "example.org"}, owner: link},
		"Key":     {reason: "Another primary owns it.", owner: store.Owner{Kind: "thing", Key: "ns/b"}},
		"Kind":    {reason: "So does one of another kind.", owner: store.Owner{Kind: "other", Key: "ns/a"}},
		"None":    {reason: "Nobody does."},
		"Epoch":   {reason: "A primary that came back owns what was made for it in a store before.", owner: store.Owner{Kind: "thing", Key: "ns/a", Epoch: "before", Revision: 9}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
				ReconcilerFunc[*thing](nil), Options{Marks: tc.marks, TypedOptions: unnamed()})
			if err != nil {
				t.Fatal(err)
			}
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
			if tc.owner.Kind != "" {
				tc.by.Set(obj, tc.owner)
			}
			if got := c.Owns(obj, "ns/a"); got != tc.want {
				t.Errorf("%s\nOwns(...): got %t", tc.reason, got)
			}
		})
	}
	half := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{AnnotationKeyOwnerKind: "thing"}}}
	c, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}), ReconcilerFunc[*thing](nil), Options{TypedOptions: unnamed()})
	if err != nil {
		t.Fatal(err)
	}
	if c.Owns(half, "") {
		t.Error("half a mark owns it")
	}
}

// inClusterWorld runs a test in a bubble with a cluster whose ConfigMaps the controller owns.
func inClusterWorld(t *testing.T, o Options, wrap func(client.Client) client.Client, prepare func(*world, client.Client), test func(*world, client.Client)) {
	t.Helper()
	var cluster *kube.Cluster
	inWorld(t, o, func(w *world) {
		w.lazy = true
		cluster = clusterOf(w.T)
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- cluster.Start(ctx) }()
		w.Cleanup(func() { stop(); w.must(<-ended) })
		prepare(w, cluster.GetClient())
	}, func(w *world) {
		w.pass(time.Second)
		test(w, cluster.GetClient())
	}, func(*world) Dependency {
		c := cluster.GetClient()
		if wrap != nil {
			c = wrap(c)
		}

		return DeleteWithPrimary(OwnsKube(cluster.GetCache(), &corev1.ConfigMap{}, WithClient(c)))
	})
}

// mapOf returns a ConfigMap that was made for an owner.
func mapOf(name string, owner store.Owner) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if owner.Kind != "" {
		Marks{}.Set(obj, owner)
	}

	return obj
}

func mapNames(w *world, c client.Client) (names []string) {
	w.Helper()
	var list corev1.ConfigMapList
	w.must(c.List(w.Context(), &list))
	for _, obj := range list.Items {
		names = append(names, obj.Name)
	}
	slices.Sort(names)

	return names
}

// TestDeleteWithPrimary: when a primary was deleted, what is marked with it goes in the next
// pass, without a line of the author's, and nothing else does.
func TestDeleteWithPrimary(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		policy GarbagePolicy
		lose   bool
		want   []string
	}{
		"Deleted":  {reason: "What is marked with it goes.", want: []string{"foreign", "nobodys", "of-b", "unmarked"}},
		"Unmarked": {reason: "What does not say of which store it is goes if the options say so.", policy: GarbagePolicy{Unmarked: true}, want: []string{"foreign", "nobodys", "of-b"}},
		"Disabled": {reason: "The collector is another matter.", policy: GarbagePolicy{Disabled: true}, want: []string{"foreign", "nobodys", "of-b", "unmarked"}},
		"Lost":     {reason: "With its store it was lost, and not deleted.", lose: true, want: []string{"foreign", "nobodys", "of-a", "of-b", "one-more", "unmarked"}},
	} {
		t.Run(name, func(t *testing.T) {
			inClusterWorld(t, Options{Garbage: tc.policy}, nil, func(w *world, c client.Client) {
				for i, key := range []string{"a", "b"} {
					w.create(key, 1)
					w.must(c.Create(w.Context(), mapOf("of-"+key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: uint64(i + 1)})))
				}
				w.must(c.Create(w.Context(), mapOf("one-more", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})))
				w.must(c.Create(w.Context(), mapOf("foreign", store.Owner{Kind: "other", Key: "a", Epoch: "0", Revision: 1})))
				w.must(c.Create(w.Context(), mapOf("unmarked", store.Owner{Kind: "thing", Key: "a"})))
				w.must(c.Create(w.Context(), mapOf("nobodys", store.Owner{})))
			}, func(w *world, c client.Client) {
				if tc.lose {
					w.primaries.Recreate()
				} else {
					w.must(w.primaries.Delete(w.Context(), "a"))
				}
				w.pass(time.Minute)
				w.c.Enqueue("a")
				w.pass(time.Minute)
				if diff := cmp.Diff(tc.want, mapNames(w, c)); diff != "" {
					t.Errorf("%s\nleft: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestDeleteWithPrimaryComesFirst: the reconciler is told of the deletion when what was made
// has been deleted; what cannot be deleted is tried again.
func TestDeleteWithPrimaryComesFirst(t *testing.T) {
	tries := 0
	fails := func(inner client.Client) client.Client {
		return interceptor.NewClient(inner.(client.WithWatch), interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
				if tries++; tries == 1 {
					return errors.New("not now")
				}

				return c.Delete(ctx, obj, o...)
			},
		})
	}
	inClusterWorld(t, Options{}, fails, func(w *world, c client.Client) {
		w.create("a", 1)
		w.must(c.Create(w.Context(), mapOf("of-a", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})))
	}, func(w *world, c client.Client) {
		w.mu.Lock()
		w.passes = nil
		w.mu.Unlock()
		w.must(w.primaries.Delete(w.Context(), "a"))
		w.pass(time.Millisecond)
		w.saw()
		w.pass(time.Minute)
		if got := mapNames(w, c); tries != 2 || len(got) != 0 {
			t.Errorf("after %d tries there are %q", tries, got)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.passes, "a gone") {
			t.Errorf("the reconciler saw %q", w.passes)
		}
		w.events.said(t, "Normal GarbageCollected")
	})
}

// TestDeleteWithPrimaryInStores: it goes for objects in stores as well.
func TestDeleteWithPrimaryInStores(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) {
		w.lazy = true
		w.create("a", 1)
		for name, owners := range map[string][]store.Owner{
			"of-a":   {{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}},
			"shared": {{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}, {Kind: "thing", Key: "b", Epoch: "0", Revision: 1}},
		} {
			v := storetest.NewThing(name, 1)
			v.Metadata.Owners = owners
			_, err := volumes.Create(w.Context(), v)
			w.must(err)
		}
	}, func(w *world) {
		w.must(w.primaries.Delete(w.Context(), "a"))
		w.pass(time.Minute)
		var left []string
		for v, err := range volumes.List(w.Context()) {
			w.must(err)
			left = append(left, v.Metadata.Key)
		}
		if diff := cmp.Diff([]string{"shared"}, left); diff != "" {
			t.Errorf("left: -want, +got:\n%s", diff)
		}
	}, func(*world) Dependency {
		return DeleteWithPrimary(Owns(store.NewInformer(volumes, store.InformerOptions{})))
	})
}

// TestDeleteWithPrimaryOfWhatIsNotOwned: what cannot be deleted so is told when the controller
// is made.
func TestDeleteWithPrimaryOfWhatIsNotOwned(t *testing.T) {
	shared := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().ConfigMaps().Informer()
	for name, tc := range map[string]struct {
		dep  Dependency
		want string
	}{
		"Reads":    {dep: Reads[*thing](store.NewInformer(newMemory("x"), store.InformerOptions{}), nil), want: "does not own"},
		"External": {dep: External("x", &Pusher{}), want: "does not own"},
		"Evidence": {dep: Evidence(func(context.Context, string) ([]store.Owner, error) { return nil, nil }), want: "does not own"},
		"NoClient": {dep: OwnsInformer(shared), want: "without a client"},
	} {
		_, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
			ReconcilerFunc[*thing](func(context.Context, string, *thing, bool) (reconcile.Result, error) { return reconcile.Result{}, nil }),
			Options{TypedOptions: unnamed()}, DeleteWithPrimary(tc.dep))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

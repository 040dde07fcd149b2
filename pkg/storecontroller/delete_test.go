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

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestOwns: Owns reads the marks of the options.
func TestOwns(t *testing.T) {
	link := store.Owner{Kind: "thing", Key: "ns/a"}
	for name, tc := range map[string]struct {
		reason string
		marks  Marks // of the controller
		by     Marks // of the object
		owner  store.Owner
		want   bool
	}{
		"Own": {reason: "The marks name that primary.", owner: link, want: true},
		"Prefix": {reason: "The marks of the options count.", marks: Marks{Prefix: "example.org"},
			by: Marks{Prefix: "example.org"}, owner: link, want: true},
		"Former":  {reason: "Former marks count.", by: Marks{Prefix: FormerMarkPrefix}, owner: link, want: true},
		"Unknown": {reason: "Other prefixes do not count.", by: Marks{Prefix: "example.org"}, owner: link},
		"Key":     {reason: "The marks name another primary.", owner: store.Owner{Kind: "thing", Key: "ns/b"}},
		"Kind":    {reason: "The marks name a primary of another kind.", owner: store.Owner{Kind: "other", Key: "ns/a"}},
		"None":    {reason: "There are no marks."},
		"Epoch": {reason: "The epoch is ignored: a restored primary owns its former secondaries.",
			owner: store.Owner{Kind: "thing", Key: "ns/a", Epoch: "before", Revision: 9}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
				ReconcilerFunc[*thing](nil), Options{Marks: tc.marks, TypedOptions: skipNameValidation()})
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
	c, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
		ReconcilerFunc[*thing](nil), Options{TypedOptions: skipNameValidation()})
	if err != nil {
		t.Fatal(err)
	}
	if c.Owns(half, "") {
		t.Error("an object with incomplete marks is owned")
	}
}

// inClusterWorld runs a test in a bubble with a cluster whose ConfigMaps the controller owns.
func inClusterWorld(t *testing.T, o Options, wrap func(client.Client) client.Client,
	prepare func(*world, client.Client), test func(*world, client.Client)) {
	t.Helper()
	var cluster *kube.Cluster
	inWorld(t, o, func(w *world) {
		w.skipParts = true
		cluster = newCluster(w.T)
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- cluster.Start(ctx) }()
		w.Cleanup(func() { stop(); w.must(<-ended) })
		prepare(w, cluster.GetClient())
	}, func(w *world) {
		w.advance(time.Second)
		test(w, cluster.GetClient())
	}, func(*world) Dependency {
		c := cluster.GetClient()
		if wrap != nil {
			c = wrap(c)
		}

		return DeleteWithPrimary(OwnsKube(cluster.GetCache(), &corev1.ConfigMap{}, WithClient(c)))
	})
}

// newConfigMap returns a ConfigMap with the marks of an owner.
func newConfigMap(name string, owner store.Owner) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if owner.Kind != "" {
		Marks{}.Set(obj, owner)
	}

	return obj
}

func configMapNames(w *world, c client.Client) (names []string) {
	w.Helper()
	var list corev1.ConfigMapList
	w.must(c.List(w.Context(), &list))
	for _, obj := range list.Items {
		names = append(names, obj.Name)
	}
	slices.Sort(names)

	return names
}

// TestDeleteWithPrimary checks that the next pass over a deleted primary deletes its secondaries, and no other objects.
func TestDeleteWithPrimary(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		policy GarbagePolicy
		lose   bool
		want   []string
	}{
		"Deleted": {reason: "Secondaries with its marks are deleted.",
			want: []string{"foreign", "no-owner", "of-b", "unmarked"}},
		"Unmarked": {
			reason: "With Unmarked, objects without an epoch are deleted.", policy: GarbagePolicy{Unmarked: true},
			want: []string{"foreign", "no-owner", "of-b"},
		},
		"Disabled": {
			reason: "Disabled affects only the garbage collector.", policy: GarbagePolicy{Disabled: true},
			want: []string{"foreign", "no-owner", "of-b", "unmarked"},
		},
		"Lost": {reason: "The primary was lost with its store, and not deleted.", lose: true,
			want: []string{"foreign", "no-owner", "of-a", "of-b", "one-more", "unmarked"}},
	} {
		t.Run(name, func(t *testing.T) {
			inClusterWorld(t, Options{Garbage: tc.policy}, nil, func(w *world, c client.Client) {
				for i, key := range []string{"a", "b"} {
					w.create(key, 1)
					w.must(c.Create(w.Context(),
						newConfigMap("of-"+key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: uint64(i + 1)})))
				}
				w.must(c.Create(w.Context(),
					newConfigMap("one-more", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})))
				w.must(c.Create(w.Context(),
					newConfigMap("foreign", store.Owner{Kind: "other", Key: "a", Epoch: "0", Revision: 1})))
				w.must(c.Create(w.Context(), newConfigMap("unmarked", store.Owner{Kind: "thing", Key: "a"})))
				w.must(c.Create(w.Context(), newConfigMap("no-owner", store.Owner{})))
			}, func(w *world, c client.Client) {
				if tc.lose {
					w.primaries.Recreate()
				} else {
					w.must(w.primaries.Delete(w.Context(), "a"))
				}
				w.advance(time.Minute)
				w.c.Enqueue("a")
				w.advance(time.Minute)
				if diff := cmp.Diff(tc.want, configMapNames(w, c)); diff != "" {
					t.Errorf("%s\nleft: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestDeleteWithPrimaryBeforeReconcile checks that the reconciler is called after the secondaries were deleted; a
// failed deletion is retried.
func TestDeleteWithPrimaryBeforeReconcile(t *testing.T) {
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
		w.must(c.Create(w.Context(), newConfigMap("of-a", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})))
	}, func(w *world, c client.Client) {
		w.mu.Lock()
		w.passes = nil
		w.mu.Unlock()
		w.must(w.primaries.Delete(w.Context(), "a"))
		w.advance(time.Millisecond)
		w.expectPasses()
		w.advance(time.Minute)
		if got := configMapNames(w, c); tries != 2 || len(got) != 0 {
			t.Errorf("after %d tries there are %q", tries, got)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.passes, "a gone") {
			t.Errorf("the reconciler saw %q", w.passes)
		}
		w.events.expect(t, "Normal GarbageCollected")
	})
}

// TestDeleteWithPrimaryInStores: DeleteWithPrimary works for objects in stores as well.
func TestDeleteWithPrimaryInStores(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) {
		w.skipParts = true
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
		w.advance(time.Minute)
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

// TestDeleteWithPrimaryRequiresOwnedDependency: New returns an error for a dependency whose objects cannot be
// deleted.
func TestDeleteWithPrimaryRequiresOwnedDependency(t *testing.T) {
	shared := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().ConfigMaps().Informer()
	for name, tc := range map[string]struct {
		dep  Dependency
		want string
	}{
		"Reads": {dep: Reads[*thing](store.NewInformer(newMemory("x"), store.InformerOptions{}), nil),
			want: "does not own"},
		"External": {dep: External("x", &Pusher{}), want: "does not own"},
		"Evidence": {
			dep: Evidence(func(context.Context, string) ([]store.Owner, error) { return nil, nil }), want: "does not own",
		},
		"NoClient": {dep: OwnsInformer(shared), want: "without a client"},
	} {
		_, err := New(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
			noopReconciler,
			Options{TypedOptions: skipNameValidation()}, DeleteWithPrimary(tc.dep))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

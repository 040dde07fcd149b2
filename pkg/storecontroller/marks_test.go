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
	"k8s.io/apimachinery/pkg/labels"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestMarks: what is set is found again, whatever the key, and selected.
func TestMarks(t *testing.T) {
	long := strings.Repeat("k", 64)
	cases := map[string]struct {
		reason string
		marks  Marks
		owner  store.Owner
		label  string
	}{
		"Legal":  {reason: "A key that a label can hold is the label.", owner: store.Owner{Kind: "link", Key: "a.b-c"}, label: "a.b-c"},
		"Slash":  {reason: "One that it cannot is there as a hash.", owner: store.Owner{Kind: "link", Key: "ns/a"}, label: "h-09ac74bb56f19d2c7ed9313d323ae561"},
		"Long":   {reason: "Too long is as bad.", owner: store.Owner{Kind: "link", Key: long}, label: labelValue(long)},
		"Stamp":  {reason: "The life of the store is kept.", owner: store.Owner{Kind: "link", Key: "a", Epoch: "e", Revision: 7}, label: "a"},
		"Prefix": {reason: "The names are the author's.", marks: Marks{Prefix: "example.org"}, owner: store.Owner{Kind: "link", Key: "a"}, label: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{AnnotationKeyOwnerEpoch: "old"}}}
			tc.marks.Set(obj, tc.owner)
			got, err := tc.marks.Owner(obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.owner, got); diff != "" {
				t.Errorf("%s\nOwner(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.label, obj.Labels[tc.marks.KeyKey()]); diff != "" {
				t.Errorf("%s\nlabel: -want, +got:\n%s", tc.reason, diff)
			}
			set := labels.Set(obj.Labels)
			if !tc.marks.Selector(tc.owner.Kind, tc.owner.Key).Matches(set) || !tc.marks.Selector(tc.owner.Kind, "").Matches(set) {
				t.Errorf("%s\nit is not selected by what it is marked with: %v", tc.reason, set)
			}
			if tc.marks.Selector(tc.owner.Kind, "other").Matches(set) || tc.marks.Selector("other", "").Matches(set) {
				t.Errorf("%s\nit is selected as somebody else's: %v", tc.reason, set)
			}
		})
	}
}

// TestOwnerOfOthers: no mark is no error, half a mark is one.
func TestOwnerOfOthers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		meta    metav1.ObjectMeta
		want    store.Owner
		wantErr bool
	}{
		"None":  {reason: "It is nobody's."},
		"Half":  {reason: "It says that it is somebody's, and not whose.", meta: metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link"}}, want: store.Owner{Kind: "link"}, wantErr: true},
		"Label": {reason: "Labels alone will do.", meta: metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link", "kumori/ownerkey": "a"}}, want: store.Owner{Kind: "link", Key: "a"}},
		"Both": {
			reason: "The annotation is the whole key.",
			meta:   metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link", "kumori/ownerkey": "h-1"}, Annotations: map[string]string{"kumori/ownerkey": "n/a"}},
			want:   store.Owner{Kind: "link", Key: "n/a"},
		},
		"Default": {
			reason: "The marks of today are read first.",
			meta: metav1.ObjectMeta{Labels: map[string]string{
				"moorage.dev/ownerkind": "link", "moorage.dev/ownerkey": "a", "kumori/ownerkind": "link", "kumori/ownerkey": "b",
			}},
			want: store.Owner{Kind: "link", Key: "a"},
		},
		"DefaultHalf": {
			reason: "Half a mark of today is no reason to believe a former one.",
			meta: metav1.ObjectMeta{Labels: map[string]string{
				"moorage.dev/ownerkind": "link", "kumori/ownerkind": "link", "kumori/ownerkey": "b",
			}},
			want: store.Owner{Kind: "link"}, wantErr: true,
		},
		"BadRevision": {
			reason: "What is no number is no revision.",
			meta:   metav1.ObjectMeta{Annotations: map[string]string{"kumori/ownerkind": "link", "kumori/ownerkey": "a", AnnotationKeyOwnerEpoch: "e", AnnotationKeyOwnerRevision: "x"}},
			want:   store.Owner{Kind: "link", Key: "a", Epoch: "e"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Marks{}.Owner(&corev1.ConfigMap{ObjectMeta: tc.meta})
			if (err != nil) != tc.wantErr {
				t.Errorf("%s\nOwner(...): got error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nOwner(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSetOwnerTwice: an object need not be written because its primary was.
func TestSetOwnerTwice(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.lazy = true }, func(w *world) {
		a := w.create("ns/a", 1)
		obj := &corev1.ConfigMap{}
		w.c.SetOwner(obj, a)
		first := obj.DeepCopy()
		a.Spec.Size = 2
		a, err := w.primaries.Update(t.Context(), a)
		w.must(err)
		w.c.SetOwner(obj, a)
		if diff := cmp.Diff(first, obj); diff != "" {
			t.Errorf("marking again changed something: -first, +second:\n%s", diff)
		}
	})
}

// former has the marks that controllers had by default before they had those of moorage.dev.
func former(t *testing.T, name, kind, key, epoch string) *corev1.ConfigMap {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	obj.Labels = map[string]string{"kumori/ownerkind": kind, "kumori/ownerkey": key}
	obj.Annotations = map[string]string{
		"kumori/ownerkind": kind, "kumori/ownerkey": key,
		AnnotationKeyOwnerEpoch: epoch, AnnotationKeyOwnerRevision: "1",
	}

	return obj
}

// TestDefaultMarks: what a controller marks by default bears the domain of this library alone.
func TestDefaultMarks(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.lazy = true }, func(w *world) {
		obj := &corev1.ConfigMap{}
		w.c.SetOwner(obj, w.create("a", 1))
		want := map[string]string{"moorage.dev/ownerkind": "thing", "moorage.dev/ownerkey": "a"}
		if diff := cmp.Diff(map[string]string{AnnotationKeyOwnerKind: "thing", AnnotationKeyOwnerKey: "a"}, want); diff != "" {
			t.Errorf("constants: -got, +want:\n%s", diff)
		}
		if diff := cmp.Diff(want, obj.Labels); diff != "" {
			t.Errorf("labels: -want, +got:\n%s", diff)
		}
		want[AnnotationKeyOwnerEpoch], want[AnnotationKeyOwnerRevision] = "0", "1"
		if diff := cmp.Diff(want, obj.Annotations); diff != "" {
			t.Errorf("annotations: -want, +got:\n%s", diff)
		}
	})
}

// TestFormerMarksAreRead: who upgrades without saying anything finds what was made before: it
// leads to its primary, tells what was lost, and is marked anew when it is marked again.
func TestFormerMarksAreRead(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.lazy = true }, func(w *world) {
		a := w.create("a", 1)
		obj := former(w.T, "m", "thing", "a", "0")
		if got, err := w.c.opts.Marks.Owner(obj); err != nil || got != (store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}) {
			t.Errorf("the owner is %+v, %v", got, err)
		}
		a.Spec.Size = 2
		a, err := w.primaries.Update(t.Context(), a)
		w.must(err)
		w.c.SetOwner(obj, a)
		want := &corev1.ConfigMap{}
		w.c.opts.Marks.Set(want, store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})
		if diff := cmp.Diff(want.Labels, obj.Labels); diff != "" {
			t.Errorf("labels, marked anew: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff(want.Annotations, obj.Annotations); diff != "" {
			t.Errorf("annotations, marked anew, with the revision of before: -want, +got:\n%s", diff)
		}
		others := former(w.T, "o", "other", "a", "0")
		w.c.SetOwner(others, a)
		if got := others.Labels["kumori/ownerkind"]; got != "other" {
			t.Errorf("a former mark of another kind became %q", got)
		}
	})
}

// TestFormerMarksOfAFleet: objects that were marked before lead to their primaries, are
// collected when those are gone, and are left alone when those were lost.
func TestFormerMarksOfAFleet(t *testing.T) {
	for name, tc := range map[string]struct {
		marks Marks
		found bool // by their former marks
	}{
		"Default":   {found: true},
		"Former":    {marks: Marks{Prefix: FormerMarkPrefix}, found: true},
		"Another":   {marks: Marks{Prefix: "example.org", Former: FormerMarkPrefix}, found: true},
		"Explicit":  {marks: Marks{Prefix: DefaultMarkPrefix}},
		"OwnPrefix": {marks: Marks{Prefix: "example.org"}},
	} {
		t.Run(name, func(t *testing.T) {
			var cluster *kube.Cluster
			left := func(w *world) (names []string) {
				var list corev1.ConfigMapList
				w.must(cluster.GetClient().List(w.Context(), &list))
				for _, obj := range list.Items {
					names = append(names, obj.Name)
				}
				slices.Sort(names)

				return names
			}
			inWorld(t, Options{Resync: time.Hour, Marks: tc.marks}, func(w *world) {
				w.lazy = true
				w.create("there", 1)
				cluster = clusterOf(w.T)
				ctx, stop := context.WithCancel(w.Context())
				ended := make(chan error, 1)
				go func() { ended <- cluster.Start(ctx) }()
				w.Cleanup(func() { stop(); w.must(<-ended) })
				for _, obj := range []*corev1.ConfigMap{
					former(w.T, "kept", "thing", "there", "0"), former(w.T, "orphan", "thing", "gone", "0"),
					former(w.T, "lost", "thing", "lost", "before"), former(w.T, "foreign", "other", "gone", "0"),
				} {
					w.must(cluster.GetClient().Create(w.Context(), obj))
				}
			}, func(w *world) {
				w.pass(5 * time.Hour)
				want := []string{"foreign", "kept", "lost", "orphan"}
				if tc.found {
					want = []string{"foreign", "kept", "lost"}
				}
				if diff := cmp.Diff(want, left(w)); diff != "" {
					t.Errorf("after garbage was collected: -want, +got:\n%s", diff)
				}
				w.c.Enqueue("lost")
				w.rest()
				w.mu.Lock()
				if passed := slices.Contains(w.passes, "lost gone"); passed == tc.found {
					t.Errorf("a primary that was lost is told as deleted: %t", passed)
				}
				w.mu.Unlock()
			}, func(w *world) Dependency {
				return OwnsKube(cluster.GetCache(), &corev1.ConfigMap{}, WithClient(cluster.GetClient()))
			})
		})
	}
}

// TestMarksGoBack: with the prefixes the other way round, what bears the marks of today is found,
// and gets the former ones.
func TestMarksGoBack(t *testing.T) {
	back := Marks{Prefix: FormerMarkPrefix, Former: DefaultMarkPrefix}
	inWorld(t, Options{Marks: back}, func(w *world) { w.lazy = true }, func(w *world) {
		a := w.create("a", 1)
		want, obj := former(w.T, "m", "thing", "a", "0"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"}}
		Marks{}.Set(obj, store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})
		if got, err := back.Owner(obj); err != nil || got.Key != "a" {
			t.Errorf("the owner is %+v, %v", got, err)
		}
		w.c.SetOwner(obj, a)
		if diff := cmp.Diff(want, obj); diff != "" {
			t.Errorf("marked as before: -want, +got:\n%s", diff)
		}
	})
}

// TestFormerMarksAreKept: with FormerMarkPrefix in the options everything is as it was: an
// object that was marked before is not changed by being marked again, and a new one bears the same names.
func TestFormerMarksAreKept(t *testing.T) {
	inWorld(t, Options{Marks: Marks{Prefix: FormerMarkPrefix}}, func(w *world) { w.lazy = true }, func(w *world) {
		a := w.create("a", 1)
		old, fresh := former(w.T, "m", "thing", "a", "0"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"}}
		before := old.DeepCopy()
		w.c.SetOwner(old, a)
		if diff := cmp.Diff(before, old); diff != "" {
			t.Errorf("marking again changed something: -before, +after:\n%s", diff)
		}
		w.c.SetOwner(fresh, a)
		if diff := cmp.Diff(before, fresh); diff != "" {
			t.Errorf("marked for the first time: -as before, +got:\n%s", diff)
		}
		if !OwnerSelector("thing", "a").Matches(labels.Set(fresh.Labels)) {
			t.Error("OwnerSelector does not select it")
		}
	})
}

// TestMarksBeforeTheInformerHasFollowed: what is marked before the informer has followed the
// store, as a unit test of a reconciler marks it, says of which store the primary is.
func TestMarksBeforeTheInformerHasFollowed(t *testing.T) {
	primaries := newMemory("things")
	primaries.Recreate() // the epoch is another than that of nothing
	a, err := primaries.Create(t.Context(), storetest.NewThing("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(nil, "things", "thing", store.NewInformer(primaries, store.InformerOptions{}), ReconcilerFunc[*thing](nil), Options{TypedOptions: unnamed()})
	if err != nil {
		t.Fatal(err)
	}
	want := store.Owner{Kind: "thing", Key: "a", UID: a.Metadata.UID, Epoch: "1", Revision: a.Metadata.Revision}
	if diff := cmp.Diff(want, c.Owner(a)); diff != "" {
		t.Errorf("Owner(...): -want, +got:\n%s", diff)
	}
	obj := &corev1.ConfigMap{}
	c.SetOwner(obj, a)
	if got := obj.Annotations[AnnotationKeyOwnerEpoch]; got != "1" {
		t.Errorf("the epoch in the marks is %q", got)
	}
}

// A silent store does not tell its state.
type silent struct{ store.Store[*thing] }

func (silent) State(context.Context) (store.State, error) { return store.State{}, errDeaf }

// TestMarksWhenNobodyAnswers: where the store cannot be asked, the marks do not say of which it
// is, and the log does.
func TestMarksWhenNobodyAnswers(t *testing.T) {
	var said journal
	c, err := New(nil, "things", "thing", store.NewInformer[*thing](silent{newMemory("things")}, store.InformerOptions{}),
		ReconcilerFunc[*thing](nil), Options{Logger: said.logger(), TypedOptions: unnamed()})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Owner(storetest.NewThing("a", 1)); got.Epoch != "" || !said.has("Marking without an epoch", "a", errDeaf.Error()) {
		t.Errorf("the owner is %+v, and %q was said", got, said.all())
	}
}

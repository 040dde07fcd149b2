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

// TestMarks checks that marks are read and selected for any key.
func TestMarks(t *testing.T) {
	long := strings.Repeat("k", 64)
	cases := map[string]struct {
		reason string
		marks  Marks
		owner  store.Owner
		label  string
	}{
		"Legal": {reason: "The label holds a valid label value.", owner: store.Owner{Kind: "link", Key: "a.b-c"},
			label: "a.b-c"},
		"Slash": {reason: "The label holds the hash of an invalid value.", owner: store.Owner{Kind: "link", Key: "ns/a"},
			label: "h-09ac74bb56f19d2c7ed9313d323ae561"},
		"Long": {reason: "The label holds the hash of a long value.", owner: store.Owner{Kind: "link", Key: long},
			label: labelValue(long)},
		"Stamp": {reason: "Epoch and revision are stored.",
			owner: store.Owner{Kind: "link", Key: "a", Epoch: "e", Revision: 7}, label: "a"},
		"Prefix": {
			reason: "The prefix is configurable.", marks: Marks{Prefix: "example.org"}, owner: store.Owner{Kind: "link",
				Key: "a"}, label: "a",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": "1"},
				Annotations: map[string]string{AnnotationKeyOwnerEpoch: "old"}}}
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
			if !tc.marks.Selector(tc.owner.Kind, tc.owner.Key).Matches(set) ||
				!tc.marks.Selector(tc.owner.Kind, "").Matches(set) {
				t.Errorf("%s\nthe selector of its marks does not match: %v", tc.reason, set)
			}
			if tc.marks.Selector(tc.owner.Kind, "other").Matches(set) || tc.marks.Selector("other", "").Matches(set) {
				t.Errorf("%s\nthe selector of another owner matches: %v", tc.reason, set)
			}
		})
	}
}

// TestMarksOwner checks that missing marks are no error, incomplete marks are.
func TestMarksOwner(t *testing.T) {
	cases := map[string]struct {
		reason  string
		meta    metav1.ObjectMeta
		want    store.Owner
		wantErr bool
	}{
		"None": {reason: "There are no marks."},
		"Half": {reason: "The owner key is missing.",
			meta: metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link"}}, want: store.Owner{Kind: "link"},
			wantErr: true},
		"Label": {
			reason: "Labels are sufficient.", meta: metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link",
				"kumori/ownerkey": "a"}}, want: store.Owner{Kind: "link", Key: "a"},
		},
		"Both": {
			reason: "The annotation has the complete key.",
			meta: metav1.ObjectMeta{Labels: map[string]string{"kumori/ownerkind": "link", "kumori/ownerkey": "h-1"},
				Annotations: map[string]string{"kumori/ownerkey": "n/a"}},
			want: store.Owner{Kind: "link", Key: "n/a"},
		},
		"Default": {
			reason: "Current marks take precedence.",
			meta: metav1.ObjectMeta{Labels: map[string]string{
				"moorage.dev/ownerkind": "link", "moorage.dev/ownerkey": "a", "kumori/ownerkind": "link", "kumori/ownerkey": "b",
			}},
			want: store.Owner{Kind: "link", Key: "a"},
		},
		"DefaultHalf": {
			reason: "Incomplete current marks do not make former marks valid.",
			meta: metav1.ObjectMeta{Labels: map[string]string{
				"moorage.dev/ownerkind": "link", "kumori/ownerkind": "link", "kumori/ownerkey": "b",
			}},
			want: store.Owner{Kind: "link"}, wantErr: true,
		},
		"BadRevision": {
			reason: "A revision that is not a number is 0.",
			meta: metav1.ObjectMeta{Annotations: map[string]string{"kumori/ownerkind": "link", "kumori/ownerkey": "a",
				AnnotationKeyOwnerEpoch: "e", AnnotationKeyOwnerRevision: "x"}},
			want: store.Owner{Kind: "link", Key: "a", Epoch: "e"},
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

// TestSetOwnerIsIdempotent checks that an update of a primary does not require an update of its secondaries.
func TestSetOwnerIsIdempotent(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.skipParts = true }, func(w *world) {
		a := w.create("ns/a", 1)
		obj := &corev1.ConfigMap{}
		w.c.SetOwner(obj, a)
		first := obj.DeepCopy()
		a.Spec.Size = 2
		a, err := w.primaries.Update(t.Context(), a)
		w.must(err)
		w.c.SetOwner(obj, a)
		if diff := cmp.Diff(first, obj); diff != "" {
			t.Errorf("the second SetOwner changed the object: -first, +second:\n%s", diff)
		}
	})
}

// formerlyMarked returns an object with the marks of the former default prefix.
func formerlyMarked(t *testing.T, name, kind, key, epoch string) *corev1.ConfigMap {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	obj.Labels = map[string]string{"kumori/ownerkind": kind, "kumori/ownerkey": key}
	obj.Annotations = map[string]string{
		"kumori/ownerkind": kind, "kumori/ownerkey": key,
		AnnotationKeyOwnerEpoch: epoch, AnnotationKeyOwnerRevision: "1",
	}

	return obj
}

// TestDefaultMarks checks that by default the marks have only the domain of this library.
func TestDefaultMarks(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.skipParts = true }, func(w *world) {
		obj := &corev1.ConfigMap{}
		w.c.SetOwner(obj, w.create("a", 1))
		want := map[string]string{"moorage.dev/ownerkind": "thing", "moorage.dev/ownerkey": "a"}
		if diff := cmp.Diff(map[string]string{AnnotationKeyOwnerKind: "thing", AnnotationKeyOwnerKey: "a"},
			want); diff != "" {
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

// TestFormerMarksAreRead checks that after an upgrade with default options, an object with former marks belongs to its
// primary, shows whether the primary was lost, and gets the current marks from SetOwner.
func TestFormerMarksAreRead(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.skipParts = true }, func(w *world) {
		a := w.create("a", 1)
		obj := formerlyMarked(w.T, "m", "thing", "a", "0")
		if got, err := w.c.opts.Marks.Owner(obj); err != nil ||
			got != (store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1}) {
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
		others := formerlyMarked(w.T, "o", "other", "a", "0")
		w.c.SetOwner(others, a)
		if got := others.Labels["kumori/ownerkind"]; got != "other" {
			t.Errorf("a former mark of another kind became %q", got)
		}
	})
}

// TestFormerMarksGarbage checks that objects with former marks are deleted if their primary was deleted, and kept if it
// was lost.
func TestFormerMarksGarbage(t *testing.T) {
	for name, tc := range map[string]struct {
		marks Marks
		found bool // by former marks
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
				w.skipParts = true
				w.create("there", 1)
				cluster = newCluster(w.T)
				ctx, stop := context.WithCancel(w.Context())
				ended := make(chan error, 1)
				go func() { ended <- cluster.Start(ctx) }()
				w.Cleanup(func() { stop(); w.must(<-ended) })
				for _, obj := range []*corev1.ConfigMap{
					formerlyMarked(w.T, "kept", "thing", "there", "0"), formerlyMarked(w.T, "orphan", "thing", "gone", "0"),
					formerlyMarked(w.T, "lost", "thing", "lost", "before"), formerlyMarked(w.T, "foreign", "other", "gone", "0"),
				} {
					w.must(cluster.GetClient().Create(w.Context(), obj))
				}
			}, func(w *world) {
				w.advance(5 * time.Hour)
				want := []string{"foreign", "kept", "lost", "orphan"}
				if tc.found {
					want = []string{"foreign", "kept", "lost"}
				}
				if diff := cmp.Diff(want, left(w)); diff != "" {
					t.Errorf("after garbage was collected: -want, +got:\n%s", diff)
				}
				w.c.Enqueue("lost")
				w.settle()
				w.mu.Lock()
				if passed := slices.Contains(w.passes, "lost gone"); passed == tc.found {
					t.Errorf("a lost primary is reconciled as deleted: %t", passed)
				}
				w.mu.Unlock()
			}, func(w *world) Dependency {
				return OwnsKube(cluster.GetCache(), &corev1.ConfigMap{}, WithClient(cluster.GetClient()))
			})
		})
	}
}

// TestMarksRollback checks that with the two prefixes swapped, objects with current marks are found and get the former
// marks.
func TestMarksRollback(t *testing.T) {
	back := Marks{Prefix: FormerMarkPrefix, Former: DefaultMarkPrefix}
	inWorld(t, Options{Marks: back}, func(w *world) { w.skipParts = true }, func(w *world) {
		a := w.create("a", 1)
		want, obj := formerlyMarked(w.T, "m", "thing", "a",
			"0"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"}}
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

// TestFormerMarksAreKept checks that with FormerMarkPrefix in the options SetOwner does not change former marks, and
// sets the same marks on new objects.
func TestFormerMarksAreKept(t *testing.T) {
	inWorld(t, Options{Marks: Marks{Prefix: FormerMarkPrefix}}, func(w *world) { w.skipParts = true }, func(w *world) {
		a := w.create("a", 1)
		old, fresh := formerlyMarked(w.T, "m", "thing", "a",
			"0"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"}}
		before := old.DeepCopy()
		w.c.SetOwner(old, a)
		if diff := cmp.Diff(before, old); diff != "" {
			t.Errorf("the second SetOwner changed the object: -before, +after:\n%s", diff)
		}
		w.c.SetOwner(fresh, a)
		if diff := cmp.Diff(before, fresh); diff != "" {
			t.Errorf("marked for the first time: -as before, +got:\n%s", diff)
		}
		if !OwnerSelector("thing", "a").Matches(labels.Set(fresh.Labels)) {
			t.Error("OwnerSelector does not match")
		}
	})
}

// TestSetOwnerBeforeInformerSync checks that before the informer has followed the store, as in a unit test of a
// reconciler, the marks have the epoch of the store.
func TestSetOwnerBeforeInformerSync(t *testing.T) {
	primaries := newMemory("things")
	primaries.Recreate() // the epoch is not the initial one
	a, err := primaries.Create(t.Context(), storetest.NewThing("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(nil, "things", "thing", store.NewInformer(primaries, store.InformerOptions{}),
		ReconcilerFunc[*thing](nil), Options{TypedOptions: skipNameValidation()})
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

// A stateless store does not return its state.
type stateless struct{ store.Store[*thing] }

func (stateless) State(context.Context) (store.State, error) { return store.State{}, errUnreachable }

// TestOwnerStoreUnreachable checks that if the store is unreachable, the marks have no epoch, and a message is logged.
func TestOwnerStoreUnreachable(t *testing.T) {
	var log logRecorder
	c, err := New(nil, "things", "thing",
		store.NewInformer[*thing](stateless{newMemory("things")}, store.InformerOptions{}),
		ReconcilerFunc[*thing](nil), Options{Logger: log.logger(), TypedOptions: skipNameValidation()})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Owner(storetest.NewThing("a", 1)); got.Epoch != "" ||
		!log.has("Marking without an epoch", "a", errUnreachable.Error()) {
		t.Errorf("the owner is %+v, and the log is %q", got, log.all())
	}
}

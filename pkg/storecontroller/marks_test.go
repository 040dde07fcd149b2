package storecontroller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/moorage-dev/moorage/pkg/store"
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

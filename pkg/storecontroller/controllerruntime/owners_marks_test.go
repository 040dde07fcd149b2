package controllerruntime

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

func TestDecomposeKubeSecondaryResource(t *testing.T) {
	object := func(meta metav1.ObjectMeta) *corev1.ConfigMap {
		meta.Name = "m"

		return &corev1.ConfigMap{ObjectMeta: meta}
	}
	mine := metav1.ObjectMeta{Annotations: map[string]string{OwnerkindAnnotation: "thing", OwnerKeyAnnotation: "ns/a"}}
	cases := map[string]struct {
		reason  string
		obj     any
		object  bool
		key     string
		wantErr bool
	}{
		"Annotated": {reason: "The annotations name the owner.", obj: object(mine), object: true, key: "ns/a"},
		"Labelled": {reason: "The labels name the owner.",
			obj: object(metav1.ObjectMeta{Labels: map[string]string{OwnerkindLabel: "thing", OwnerKeyLabel: "a"}}), object: true,
			key: "a"},
		"Tombstone": {
			reason: "A tombstone has the last known state.", obj: cache.DeletedFinalStateUnknown{Obj: object(mine)},
			object: true, key: "ns/a",
		},
		"NoOwner": {reason: "There are no marks.", obj: object(metav1.ObjectMeta{}), object: true},
		"Another": {reason: "The owner has another kind.",
			obj:    object(metav1.ObjectMeta{Labels: map[string]string{OwnerkindLabel: "other", OwnerKeyLabel: "a"}}),
			object: true},
		"AnotherHalf": {
			reason: "Incomplete marks of another kind are ignored.",
			obj:    object(metav1.ObjectMeta{Labels: map[string]string{OwnerkindLabel: "other"}}), object: true, wantErr: false,
		},
		"Half": {reason: "The owner key is missing.",
			obj: object(metav1.ObjectMeta{Labels: map[string]string{OwnerkindLabel: "thing"}}), object: true, wantErr: true},
		"NoObject":  {reason: "The value is not an object.", obj: 7, wantErr: true},
		"NoState":   {reason: "A tombstone may have no state.", obj: cache.DeletedFinalStateUnknown{Key: "m"}, wantErr: true},
		"NilObject": {reason: "The value is nil.", obj: nil, wantErr: true},
	}
	r := NewRuntime[*thing]("things", "thing", nil, nil, 0)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj, key, err := r.DecomposeKubeSecondaryResource(tc.obj)
			if (err != nil) != tc.wantErr || (obj != nil) != tc.object || key != tc.key {
				t.Errorf("%s\nDecomposeKubeSecondaryResource(...): got %v, %q, %v", tc.reason, obj, key, err)
			}
		})
	}
}

// TestFormerMarks checks that before and after Run the marks are those of the constants, whatever the default of
// package storecontroller is. The default marks are read as well, and replaced.
func TestFormerMarks(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		check := func(when string) {
			obj := &corev1.ConfigMap{}
			w.c.rt.SetOwner(obj, storetest.NewThing("a", 1))
			for _, got := range []map[string]string{obj.Labels, obj.Annotations} {
				if got[OwnerkindLabel] != "thing" || got[OwnerKeyLabel] != "a" || got["moorage.dev/ownerkind"] != "" {
					t.Errorf("%s: marks are %v", when, got)
				}
			}
			if got := obj.Annotations[storecontroller.AnnotationKeyOwnerEpoch]; got != "0" {
				t.Errorf("%s: the epoch is %q", when, got)
			}
			if _, key, err := w.c.rt.DecomposeKubeSecondaryResource(obj); err != nil || key != "a" {
				t.Errorf("%s: the owner is %q, %v", when, key, err)
			}
		}
		check("before Run")
		w.run()
		check("while it runs")
		other := &corev1.ConfigMap{}
		storecontroller.Marks{}.Set(other, store.Owner{Kind: "thing", Key: "a"})
		if _, key, err := w.c.rt.DecomposeKubeSecondaryResource(other); err != nil || key != "a" {
			t.Errorf("the default marks lead to %q, %v", key, err)
		}
		w.c.rt.SetOwner(other, storetest.NewThing("a", 1))
		if other.Labels[OwnerkindLabel] != "thing" || other.Labels["moorage.dev/ownerkind"] != "" {
			t.Errorf("marks are %v", other.Labels)
		}
		w.end()
	})
}

// TestOwnerSelector: OwnerSelector matches the marks of SetOwner.
func TestOwnerSelector(t *testing.T) {
	obj := &corev1.ConfigMap{}
	SetOwner(obj, "thing", "ns/a")
	if got := obj.Annotations[OwnerKeyAnnotation]; got != "ns/a" {
		t.Errorf("the owner is %q", got)
	}
	set := labels.Set(obj.Labels)
	if !OwnerSelector("thing", "ns/a").Matches(set) || !OwnerSelector("thing", "").Matches(set) ||
		OwnerSelector("thing", "b").Matches(set) {
		t.Errorf("the selector does not match %v", set)
	}
}

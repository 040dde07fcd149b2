package syncer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestReconcileAsUpstream has the test cases of upstream plugin runtimes, under their
// names.
func TestReconcileAsUpstream(t *testing.T) {
	name := translate.PhysicalName("a", "ns")
	unrelated := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "a"}, Data: map[string]string{"whose": "theirs"},
	}
	taken := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}, Data: map[string]string{"whose": "theirs"},
	}
	virtual := imageOf("a", annotated(translator.NameAnnotation, "b"))
	mine := map[string]string{"key": "value"}
	cases := map[string]struct {
		o    syncer.Options
		p    runtime.Object
		want map[string]map[string]string // data of what is on the host, by name
		err  string
	}{
		"should sync down": {
			p: unrelated, want: map[string]map[string]string{"a": unrelated.Data, name: mine},
		},
		"should fail to sync down when object of desired name already exists": {
			p: taken, want: map[string]map[string]string{name: taken.Data},
			err: "conflict: cannot sync virtual object as unmanaged physical object exists with desired name",
		},
		"should adopt object of desired name when already exists": {
			o: syncer.Options{OnConflict: syncer.ConflictAdopt},
			p: taken, want: map[string]map[string]string{name: mine},
		},
		"should not adopt virtual object": {
			o: syncer.Options{OnConflict: syncer.ConflictAdopt},
			p: virtual, want: map[string]map[string]string{name: virtual.Data},
			err: "belongs to virtual object ns/b",
		},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, worldOptions{o: tc.o, v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{tc.p}})
			_, err := w.pass("a")
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got error %v, want %q", err, tc.err)
			}
			got := map[string]map[string]string{}
			for _, n := range w.hostNames() {
				got[n] = w.host(n).Data
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if tc.err != "" {
				return
			}
			want := map[string]string{
				translator.NameAnnotation: "a", translator.NamespaceAnnotation: "ns", translator.UIDAnnotation: "uid-of-a",
			}
			if diff := cmp.Diff(want, w.host(name).Annotations); diff != "" {
				t.Errorf("annotations: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestHostEventCreatesImage verifies, with a real queue, that a host event leads to a
// pass that creates the image.
func TestHostEventCreatesImage(t *testing.T) {
	w, q := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}}), newQueue(t)
	w.core.HandleHostEvent(imageOf("a"), true, q) // the image was deleted
	item, _ := q.Get()
	if _, err := w.core.Reconcile(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	q.Done(item)
	if want := (ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}}); item != want {
		t.Errorf("got %v, want %v", item, want)
	}
	if w.host(translate.PhysicalName("a", "ns")) == nil || q.Len() != 0 {
		t.Error("the image was not created")
	}
}

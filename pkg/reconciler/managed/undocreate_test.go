package managed_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestUndoCreate verifies that the resource of a pass is deleted if the API server has removed the object in spite
// of its new finalizer.
func TestUndoCreate(t *testing.T) {
	vanish := func(w *world) {
		v := w.get()
		v.Finalizers = nil
		w.Must(w.API.Update(w.Context(), v))
		w.Delete(v)
	}
	cases := map[string]struct {
		reason string
		create func(*volume.Volume)
		during func(w *world) // Create
		answer func(note string) error
		want   string // calls that change something
		disks  int
		fails  bool
	}{
		"Gone": {reason: "Nobody else knows of it.", during: vanish, want: "Create Delete"},
		"Namesake": {
			reason: "Nor does another object of its name.", want: "Create Delete",
			during: func(w *world) {
				vanish(w)
				w.create(func(v *volume.Volume) { v.UID = "uid-2" })
			},
			answer: func(note string) error { // what the fake API server does not check
				if !strings.Contains(note, `"uid":"uid-1"`) || strings.Contains(note, "resourceVersion") {
					return nil
				}
				foreign := kerrors.NewInvalid(schema.GroupKind{}, key.Name, nil)
				foreign.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.uid"}}

				return foreign
			},
		},
		"Orphan": {
			reason: "It is to stay whatever becomes of the object.", during: vanish, want: "Create", disks: 1,
			create: func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
			},
		},
		"Finalizer": {
			reason: "An object that was kept before is not removed by mistake: somebody did it.", during: vanish,
			want: "Create", disks: 1,
			create: func(v *volume.Volume) { v.Finalizers = []string{"example.org/backup"} },
		},
		"NotServed": {
			reason: "A kind that is not served says nothing of the object.", during: func(*world) {}, want: "Create",
			disks: 1, fails: true,
			answer: func(note string) error {
				if strings.HasPrefix(note, "patch status") {
					return kerrors.NewGenericServerResponse(http.StatusNotFound, "patch", schema.GroupResource{}, "",
						"", 0, true)
				}

				return nil
			},
		},
		"There": {reason: "Nothing happened.", during: func(*world) {}, want: "Create", disks: 1},
	}
	for name, tc := range cases {
		for _, named := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "Named"}[named], func(t *testing.T) {
				w := newWorld(t, managed.WithDeterministicExternalName(named))
				w.cloud.Named = named
				w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
					if call == "Create" {
						tc.during(w)
					}

					return nil
				}
				if tc.answer != nil {
					w.answer = func(_ context.Context, note string) error { return tc.answer(note) }
				}
				w.create(tc.create)
				if _, err := w.try(); (err != nil) != tc.fails {
					t.Errorf("%s\nerror %v", tc.reason, err)
				}
				if _, calls, _ := w.taken(); mutating(calls) != tc.want {
					t.Errorf("%s\ncalls %q", tc.reason, calls)
				}
				if disks := w.cloud.Disks(); len(disks) != tc.disks {
					t.Errorf("%s\nleft: %v", tc.reason, disks)
				}
			})
		}
	}
}

// TestUndoCreateKeepsForeignResources verifies that a resource that Create did not report as created is kept.
func TestUndoCreateKeepsForeignResources(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
		if call != "Create" {
			return nil
		}
		v := w.get()
		v.Finalizers = nil
		w.Must(w.API.Update(ctx, v))
		w.Delete(v)

		return context.DeadlineExceeded
	}
	w.create(nil)
	if _, err := w.try(); err != nil {
		t.Log(err)
	}
	if _, calls, _ := w.taken(); mutating(calls) != "Create" {
		t.Errorf("calls %q", calls)
	}
}

package trials

import (
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestD1LeftoverIsReported removes the finalizer of an object that is being deleted, so that it is
// removed at once. One warning reports the external resource that is left, and the remedy.
func TestD1LeftoverIsReported(t *testing.T) {
	stories := map[string]func(*world){
		"before a pass": func(*world) {},
		"paused, and the process began anew": func(w *world) {
			w.change(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
			})
			w.start()
			_, _ = w.pass()
		},
		"another finalizer keeps it": func(w *world) {
			w.change(func(v *volume.Volume) { v.Finalizers = []string{"example.com/other"} })
			w.run(5 * time.Minute)
		},
		"another object has its name": func(w *world) {
			w.unhold()
			w.create(func(v *volume.Volume) { v.UID = "uid-2" })
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			each(t, classes, func(w *world) {
				w.ready()
				id := w.cloud.Disks()[0].ID
				w.Delete(atKey())
				story(w)
				w.unhold()
				w.run(5 * time.Minute)
				w.run(5 * time.Minute)
				left := w.leftoverWarnings()
				if len(left) != 1 || !strings.Contains(left[0], id) ||
					!mentions(left[0], meta.AnnotationKeyExternalName) {
					w.Errorf("%s is left, and the warnings are %q", id, left)
				}
			})
		})
	}
}

// TestD1UnresolvedLeftoverIsReported loses the answer of Create in the only pass over an object, then deletes the
// object and removes its finalizer. A warning reports the resource that may be left.
func TestD1UnresolvedLeftoverIsReported(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		_, _ = w.pass() // an error requeues the object
		w.Delete(atKey())
		w.unhold()
		w.run(5 * time.Minute)
		if left := w.leftoverWarnings(); len(left) != 1 || !w.Gone(atKey()) {
			w.Errorf("the object is gone: %t; the warnings are %q", w.Gone(atKey()), left)
		}
	})
}

// TestD1ACacheThatForgets checks a deleted object that the cache lacks and the API server has. No leftover is
// reported, and nothing is forgotten: the resource is deleted with the object.
func TestD1ACacheThatForgets(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.Delete(atKey())
		w.cache = func() error { return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name) }
		w.run(5 * time.Minute)
		if left := w.leftoverWarnings(); len(left) > 0 {
			w.Errorf("the object exists, and the warnings are %q", left)
		}
		w.cache = nil
		w.run(5 * time.Minute)
		if disks := w.cloud.Disks(); !w.Gone(atKey()) || len(disks) > 0 {
			w.Errorf("the object is gone: %t; there are %s", w.Gone(atKey()), ids(disks))
		}
	})
}

// TestD1ReleasedObjectReportsNoLeftover checks that an object that is deleted, or whose policy keeps the resource,
// reports no leftover.
func TestD1ReleasedObjectReportsNoLeftover(t *testing.T) {
	stories := map[string]func(*world){
		"deleted": func(*world) {},
		"orphaned": func(w *world) {
			w.change(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
			})
		},
		"orphaned, and its finalizer taken": func(w *world) {
			w.change(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
			})
			_, _ = w.pass()
			w.Delete(atKey())
			w.unhold()
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			each(t, classes, func(w *world) {
				w.ready()
				story(w)
				if v := atKey(); w.Find(v) && v.DeletionTimestamp.IsZero() {
					w.Delete(v)
				}
				w.run(5 * time.Minute)
				w.run(5 * time.Minute)
				if left := w.leftoverWarnings(); !w.Gone(atKey()) || len(left) > 0 {
					w.Errorf("the object is gone: %t; the warnings are %q", w.Gone(atKey()), left)
				}
			})
		})
	}
}

// TestD1ReplaceTakesNoIdentity connects to another account after a replace has removed all annotations. Nothing is
// created there.
func TestD1ReplaceTakesNoIdentity(t *testing.T) {
	each(t, classes, func(w *world) {
		w.cloud.Account = "first"
		w.ready()
		w.replace()
		w.cloud.Account = "second"
		disk := w.cloud.Disks()[0]
		w.cloud.Remove(disk.ID)
		w.run(10 * time.Minute)
		if n := w.cloud.Count("Create"); n != 1 || !w.reported() {
			w.Errorf("%d creations, reported: %t", n, w.reported())
		}
		w.cloud.Account = "first"
		w.cloud.Put(disk)
		w.run(10 * time.Minute)
		w.isReady()
		if got := w.get().GetAnnotations()[meta.AnnotationKeyBackendIdentity]; got != "first" {
			w.Errorf("the object is of the system %q", got)
		}
	})
}

// unhold removes the finalizers of the object, if it exists and is deleted.
func (w *world) unhold() {
	w.Helper()
	if v := atKey(); w.Find(v) && !v.DeletionTimestamp.IsZero() {
		v.Finalizers = nil
		w.Must(w.API.Update(w.Context(), v))
	}
}

// leftoverWarnings returns the messages of the warnings about leftovers.
func (w *world) leftoverWarnings() (texts []string) {
	for _, e := range w.events {
		if e.Type == event.TypeWarning && e.Reason == "ExternalResourceLeft" {
			texts = append(texts, e.Message)
		}
	}

	return texts
}

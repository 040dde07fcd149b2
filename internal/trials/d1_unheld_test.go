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

// TestD1NothingIsLetGoWithoutAWord: somebody takes the finalizer from an object that is being deleted, so that
// it goes at once. What it leaves outside is told once, and what to do.
func TestD1NothingIsLetGoWithoutAWord(t *testing.T) {
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
				left := w.toldLeft()
				if len(left) != 1 || !strings.Contains(left[0], id) ||
					!mentions(left[0], meta.AnnotationKeyExternalName) {
					w.Errorf("%s is left, and told is %q", id, left)
				}
			})
		})
	}
}

// TestD1WhatWasBegunIsNotLeftWithoutAWord: the answer of Create is lost in the only pass over an object, which
// somebody deletes and whose finalizer he takes before the next. What it may have led to is told.
func TestD1WhatWasBegunIsNotLeftWithoutAWord(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		_, _ = w.pass() // an error asks for another pass
		w.Delete(atKey())
		w.unhold()
		w.run(5 * time.Minute)
		if left := w.toldLeft(); len(left) != 1 || !w.Gone(atKey()) {
			w.Errorf("the object is gone: %t; told is %q", w.Gone(atKey()), left)
		}
	})
}

// TestD1ACacheThatForgets: the cache has an object no more that is being deleted, and the API server has it. Nothing
// is told to be left over, and nothing is forgotten: the resource goes with the object.
func TestD1ACacheThatForgets(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.Delete(atKey())
		w.cache = func() error { return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name) }
		w.run(5 * time.Minute)
		if left := w.toldLeft(); len(left) > 0 {
			w.Errorf("the object is there, and told is %q", left)
		}
		w.cache = nil
		w.run(5 * time.Minute)
		if disks := w.cloud.Disks(); !w.Gone(atKey()) || len(disks) > 0 {
			w.Errorf("the object is gone: %t; there are %s", w.Gone(atKey()), ids(disks))
		}
	})
}

// TestD1WhatIsLetGoNeedsNoWord: who deletes an object, or says that its resource stays, is told of nothing left.
func TestD1WhatIsLetGoNeedsNoWord(t *testing.T) {
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
				if left := w.toldLeft(); !w.Gone(atKey()) || len(left) > 0 {
					w.Errorf("the object is gone: %t; told is %q", w.Gone(atKey()), left)
				}
			})
		})
	}
}

// TestD1ReplaceTakesNoIdentity: the connection leads to another account when a replace has taken all annotations.
// Nothing is created there.
func TestD1ReplaceTakesNoIdentity(t *testing.T) {
	each(t, classes, func(w *world) {
		w.cloud.Account = "first"
		w.ready()
		w.replace()
		w.cloud.Account = "second"
		disk := w.cloud.Disks()[0]
		w.cloud.Remove(disk.ID)
		w.run(10 * time.Minute)
		if n := w.cloud.Count("Create"); n != 1 || !w.told() {
			w.Errorf("%d creations, told: %t", n, w.told())
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

// unhold takes the finalizers from the object, if it is there and deleted.
func (w *world) unhold() {
	w.Helper()
	if v := atKey(); w.Find(v) && !v.DeletionTimestamp.IsZero() {
		v.Finalizers = nil
		w.Must(w.API.Update(w.Context(), v))
	}
}

// toldLeft returns what was told to be left over.
func (w *world) toldLeft() (texts []string) {
	for _, e := range w.events {
		if e.Type == event.TypeWarning && e.Reason == "ExternalResourceLeft" {
			texts = append(texts, e.Message)
		}
	}

	return texts
}

package trials

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Ways in which a replace removes all annotations of an object.
var takings = map[string]func(*world){
	"annotations": (*world).replace,
	"annotations and finalizers": func(w *world) {
		w.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil })
	},
}

// TestD1ReplaceIsNoAnswer loses the answer of Create, so that an object of an opaque system asks its user. A replace
// that removes all annotations is no answer, for the process that asked and for a new one. The condition names the
// remedy, and the remedy leads to another resource.
func TestD1ReplaceIsNoAnswer(t *testing.T) {
	for what, take := range takings {
		for _, restarted := range []bool{false, true} {
			t.Run(what+map[bool]string{true: ", restarted"}[restarted], func(t *testing.T) {
				each(t, assigned, func(w *world) {
					w.loseCreate(func() {})
					w.create()
					w.run(10 * time.Minute)
					for range 3 {
						take(w)
						if restarted {
							w.start()
						}
						w.run(10 * time.Minute)
						w.single()
					}
					if w.class.name != opaque.name {
						w.isReady()

						return
					}
					if !w.reported() {
						w.Errorf("the unresolved creation is not reported")
					}
					w.answers()
					if disks := w.cloud.Disks(); len(disks) != 2 {
						w.Errorf("the user answers that it is safe to create, and there are %s", ids(disks))
					}
				})
			})
		}
	}
}

// TestD1ReplaceIsNoAnswerForADeletion checks that a replace does not release a deleted object whose creation is
// unresolved.
func TestD1ReplaceIsNoAnswerForADeletion(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		_, _ = w.pass()
		w.Delete(atKey())
		w.start()
		for range 2 {
			w.run(10 * time.Minute)
			if !w.Find(atKey()) {
				break
			}
			w.replace()
		}
		w.run(10 * time.Minute)
		w.leftNothing()
	})
}

// TestD1ReplaceOfADeletedObject starts a process with a deleted object whose creation is unresolved. The process
// remembers the record that it has read when a replace removes it.
func TestD1ReplaceOfADeletedObject(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		_, _ = w.pass()
		w.Delete(atKey())
		w.start()
		replaced := false
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Connect" && !replaced {
				replaced = true
				w.replace()
			}

			return nil
		}
		w.run(10 * time.Minute)
		if !replaced {
			w.Errorf("the object was never replaced")
		}
		w.leftNothing()
	})
}

// leftNothing checks that the object exists as long as the resource that was created for it.
func (w *world) leftNothing() {
	w.Helper()
	if disks := w.cloud.Disks(); w.Gone(atKey()) && len(disks) > 0 {
		w.Errorf("the object is gone, and %s is left", ids(disks))
	}
}

// answers follows the condition as a user who has checked that nothing was created: it removes the annotations of
// the record that the condition names, and no others.
func (w *world) answers() {
	w.Helper()
	if c := w.get().GetCondition(commonv1.TypeSynced); !mentions(c.Message, meta.AnnotationKeyExternalCreatePending) {
		w.Errorf("the condition does not say what to do: %s", c.Message)
	}
	w.change(func(v *volume.Volume) {
		meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
			meta.AnnotationKeyCreateAttempt)
	})
	w.run(10 * time.Minute)
}

func (w *world) change(change func(*volume.Volume)) {
	w.Helper()
	v := w.get()
	change(v)
	w.Must(w.API.Update(w.Context(), v))
}

// mentions reports whether a text names all these annotations.
func mentions(text string, annotations ...string) bool {
	return !slices.ContainsFunc(annotations, func(a string) bool { return !strings.Contains(text, a) })
}

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

// Takings are the ways in which a replace takes all annotations from an object.
var takings = map[string]func(*world){
	"annotations":                (*world).replace,
	"annotations and finalizers": func(w *world) { w.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil }) },
}

// TestD1ReplaceIsNoAnswer: the answer of Create is lost, so that an object of an opaque system asks its
// user. A replace, which takes all annotations, is not his answer, for the process that asked and for one
// that begins. What is to be done is told; and who does that has another resource created.
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
					if !w.told() {
						w.Errorf("nobody is told that the creation is not resolved")
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

// TestD1ReplaceIsNoAnswerForADeletion: nor is a replace the answer that lets an object go whose creation is
// not resolved.
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

// TestD1ReplaceOfADeletedObject: a process begins with an object that is being deleted, and whose creation
// is not resolved. What it read of that it does not forget when a replace takes it.
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

// leftNothing demands that the object is there as long as what was created for it.
func (w *world) leftNothing() {
	w.Helper()
	if disks := w.cloud.Disks(); w.Gone(atKey()) && len(disks) > 0 {
		w.Errorf("the object is gone, and %s is left", ids(disks))
	}
}

// answers does what the condition asks of a user who has looked that nothing was created: it takes away what
// the condition names of the record, and nothing else.
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

// mentions reports whether a text names all of some annotations.
func mentions(text string, annotations ...string) bool {
	return !slices.ContainsFunc(annotations, func(a string) bool { return !strings.Contains(text, a) })
}

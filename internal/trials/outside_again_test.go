package trials

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// lose removes the resource, and waits until another one is created in its place.
func (w *world) lose() {
	w.Helper()
	w.cloud.Remove(meta.GetExternalName(w.get()))
	w.run(20 * time.Minute)
	w.isReady()
}

// replaceWith does what kubectl replace does with a manifest that has annotations.
func (w *world) replaceWith(annotations map[string]string) {
	w.Helper()
	w.change(func(v *volume.Volume) { v.SetAnnotations(annotations) })
}

// goesWhole deletes the object, and checks that the object and its resource are removed.
func (w *world) goesWhole() {
	w.Helper()
	w.Delete(atKey())
	w.run(20 * time.Minute)
	if !w.Gone(atKey()) || len(w.cloud.Disks()) > 0 {
		w.Errorf("the object is gone: %t, and there are %s", w.Gone(atKey()), ids(w.cloud.Disks()))
	}
}

// TestOutsideAgainOfAnotherCluster applies a manifest that was exported from an object of the
// same name in another cluster, with a later creation. The object keeps its own resource.
func TestOutsideAgainOfAnotherCluster(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		wait(time.Hour)
		other := w.again()
		other.create(func(v *volume.Volume) { v.UID = "uid-9" })
		other.run(time.Minute)
		other.lose()
		for range 2 {
			w.replaceWith(other.get().GetAnnotations())
			w.start()
			w.run(20 * time.Minute)
			w.isReady()
		}
		w.goesWhole()
	})
}

// refused answers that it is safe to create, and then refuses creations. A later write of
// annotations leads to no second question.
func (w *world) refused(write func()) {
	w.Helper()
	w.cloud.Remove("vol-1")
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return external.NotCreated(errLost)
		}

		return nil
	}
	w.answers()
	for range 2 {
		write()
		w.start()
		w.run(time.Minute)
		if c := w.get().GetCondition(commonv1.TypeSynced); mentions(c.Message,
			meta.AnnotationKeyExternalCreatePending) {
			w.Errorf("the user is asked again: %s", c.Message)
		}
	}
	w.cloud.Before = nil
	w.run(5 * time.Minute)
	w.isReady()
}

// TestOutsideAgainAnsweredAndRefused answers that it is safe to create, and creations are
// refused. A replace that removes all annotations leads to no second question.
func TestOutsideAgainAnsweredAndRefused(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		w.run(10 * time.Minute)
		w.refused(w.replace)
	})
}

// TestOutsideAgainRestoredTwice restores an object three times, and the first Observe after each
// wrongly finds nothing. No resource is created, and the last object, which is deleted at once,
// leaves none.
func TestOutsideAgainRestoredTwice(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		for _, uid := range []types.UID{"uid-2", "uid-3"} {
			w.putBack(w.get(), uid)
			w.missed()
			w.run(20 * time.Minute)
			w.isReady()
		}
		w.putBack(w.get(), "uid-4")
		w.missed()
		w.goesWhole()
	})
}

// TestOutsideAgainRequestRestored restores an object with the annotation by which a user allowed one
// recreation. The annotation does not count for a later loss.
func TestOutsideAgainRequestRestored(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.onRequest()
		w.ready()
		w.cloud.Remove("vol-1")
		w.run(time.Hour)
		id, _, _ := strings.Cut(w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")
		w.says(commonv1.ReasonRecreationNotRequested, id)
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAllowRecreation: id})
		})
		w.run(20 * time.Minute)
		w.isReady()
		w.putBack(w.get(), "uid-2")
		w.cloud.Remove("vol-2")
		w.run(time.Hour)
		w.says(commonv1.ReasonRecreationNotRequested)
		if disks := w.cloud.Disks(); len(disks) > 0 {
			w.Errorf("%s is created unasked", ids(disks))
		}
	})
}

// A skewed clock is ahead, or behind.
type skewed struct{ by time.Duration }

// Now returns the time that it shows.
func (s skewed) Now() time.Time { return time.Now().Add(s.by) }

// Since returns how long ago a time was by it.
func (s skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// startAt starts a process whose clock is ahead, or behind.
func (w *world) startAt(by time.Duration) {
	w.options = append(slices.Clone(w.class.options), managed.WithClock(skewed{by}))
	w.start()
}

// TestOutsideAgainClocks creates a resource by a process whose clock is five hours ahead, and another
// by one whose clock is five behind. The first creation still counts as the earlier one.
func TestOutsideAgainClocks(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.startAt(5 * time.Hour)
		w.ready()
		first := w.get().GetAnnotations()
		w.startAt(-5 * time.Hour)
		w.lose()
		w.replaceWith(first)
		w.startAt(0)
		w.run(20 * time.Minute)
		w.isReady()
		w.goesWhole()
	})
}

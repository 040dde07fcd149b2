package trials

import (
	"context"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// within returns a pointer to the annotations of the object during the first Create.
func (w *world) within() *map[string]string {
	var seen map[string]string
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" && seen == nil {
			seen = w.get().GetAnnotations()
		}

		return nil
	}

	return &seen
}

// TestOutsideAgainWithinCreate applies a manifest that was exported during Create, after its
// result was observed. The object keeps its external name.
func TestOutsideAgainWithinCreate(t *testing.T) {
	in(t, opaque, func(w *world) {
		for _, ends := range []bool{false, true} {
			story := w.again()
			exported := story.within()
			story.ready()
			story.replaceWith(*exported)
			if ends {
				story.start()
			}
			story.run(20 * time.Minute)
			story.isReady()
		}
	})
}

// TestOutsideAgainWithinCreateRenamed does the same after a user has set another external name. No
// other resource is created, and the name is not replaced without a Warning.
func TestOutsideAgainWithinCreateRenamed(t *testing.T) {
	each(t, []class{findable, token}, func(w *world) {
		exported := w.within()
		w.ready()
		w.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
		w.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
		w.cloud.Remove("vol-1")
		w.run(10 * time.Minute)
		w.isReady()
		w.events = nil
		w.replaceWith(*exported)
		w.run(20 * time.Minute)
		if disks := w.cloud.Disks(); len(disks) > 1 {
			w.Errorf("there are %s, of which %d warnings tell", ids(disks), w.warnings())
		}
	})
}

// TestOutsideAgainNameIsAnAnswer checks that the external name that a user sets as an answer stays,
// also if the object is ready by it. A replace, or the annotations of the blocked object, do not
// undo the answer.
func TestOutsideAgainNameIsAnAnswer(t *testing.T) {
	in(t, opaque, func(w *world) {
		for _, older := range []bool{false, true} {
			story := w.again()
			story.loseCreate(func() {})
			story.create()
			story.run(10 * time.Minute)
			blocked := story.get().GetAnnotations()
			story.change(func(v *volume.Volume) { meta.SetExternalName(v, "vol-1") })
			_, _ = story.pass() // the next sync follows immediately
			if older {
				story.run(10 * time.Minute)
				story.isReady()
				story.replaceWith(blocked)
			} else {
				story.replace()
			}
			story.run(20 * time.Minute)
			story.isReady()
		}
	})
}

// TestOutsideAgainAnsweredByAnotherClock is about a process that asked while its clock was ahead.
// After the user's answer, the annotations of the blocked object count as those of an earlier
// creation.
func TestOutsideAgainAnsweredByAnotherClock(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.startAt(5 * time.Hour)
		w.loseCreate(func() {})
		w.create()
		w.run(10 * time.Minute)
		blocked := w.get().GetAnnotations()
		w.startAt(0)
		w.cloud.Remove("vol-1")
		w.answers()
		w.isReady()
		w.replaceWith(blocked)
		w.run(20 * time.Minute)
		w.isReady()
	})
}

// TestOutsideAgainNamelessAbandoned deletes an object whose external name is not stored. The
// annotation moorage.dev/abandon-attempt releases it, with a Warning.
func TestOutsideAgainNamelessAbandoned(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.admit = drops(func(k string) bool { return k == meta.AnnotationKeyExternalName }, false)
		w.create()
		_, _ = w.pass() // an error requeues the object
		w.start()
		w.Delete(atKey())
		w.run(20 * time.Minute)
		w.says(commonv1.ReasonCreationUnresolved)
		w.events = nil
		id := w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt]
		for _, value := range []string{id[:len(id)-len("/succeeded")], id} {
			if w.Find(atKey()) {
				w.change(func(v *volume.Volume) {
					meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAbandonAttempt: value})
				})
				w.run(20 * time.Minute)
			}
		}
		if !w.Gone(atKey()) || w.warnings() == 0 {
			w.Errorf("the object is gone: %t; events: %v", w.Gone(atKey()), w.events)
		}
	})
}

// TestOutsideAgainRestoredRenamedMissed sets another external name after a restore, and the first
// Observe with it wrongly finds nothing. No other resource is created, and the name stays.
func TestOutsideAgainRestoredRenamedMissed(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		w.putBack(w.get(), "uid-2")
		w.run(time.Minute)
		w.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
		w.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
		w.cloud.Remove("vol-1")
		w.missed()
		w.run(20 * time.Minute)
		w.isReady()
	})
}

// TestOutsideAgainRenamedMissed sets another external name, and the first Observe with it wrongly
// finds nothing. No other resource is created, and the name stays.
func TestOutsideAgainRenamedMissed(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		wait(time.Hour)
		w.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
		w.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
		w.cloud.Remove("vol-1")
		w.missed()
		w.run(20 * time.Minute)
		w.isReady()
	})
}

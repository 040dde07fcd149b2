package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// What is not found is created again when the time is over for which that is doubted, and not
// before: the grace period of what was just created, and five seconds of what was seen before.
func TestAnAbsenceIsDoubtedUntilItsTimeIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		named bool
		seen  bool
		doubt time.Duration
	}{
		"what was just created": {true, false, 30 * time.Second},
		"what was seen":         {false, true, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithDeterministicExternalName(tc.named))
			w.cloud.Named = tc.named
			w.cloud.Hidden = func(string) bool { return !tc.seen }
			w.create(nil)
			w.pass()
			if tc.seen {
				w.clock.SetTime(w.clock.Now().Add(time.Hour)) // of the creation nothing is doubted any more
			}
			w.cloud.Hidden = func(id string) bool { return id == "vol-1" || !tc.seen }
			w.pass()
			begun := w.clock.Now()
			w.taken()
			w.clock.SetTime(begun.Add(tc.doubt - 1))
			w.pass()
			w.expect("", look, "")
			w.clock.SetTime(begun.Add(tc.doubt))
			w.pass()
			if _, calls, _ := w.taken(); calls != "Connect Observe Create Observe" {
				t.Errorf("calls %q when the doubt is over", calls)
			}
		})
	}
}

// What was created a moment ago, and is deleted while it does not show, is deleted by its name
// at once: to ask again first would tell nothing.
func TestWhatWasCreatedLatelyIsDeletedByItsName(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.cloud.Hidden = func(string) bool { return true }
	w.delete()
	w.taken()
	w.pass()
	w.expect("patch", "Connect Observe Delete Observe", "Normal/DeletedExternalResource")
	if disks := w.cloud.Disks(); !w.gone() || len(disks) != 0 {
		t.Errorf("gone %t, there are %v", w.gone(), disks)
	}
}

// Without a name nothing can be deleted: what was created and has none that is stored is asked
// for, and the object stays.
func TestWhatHasNoNameIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Create" {
			meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
		}

		return nil
	}
	w.create(nil)
	w.pass()
	w.delete()
	for _, after := range []time.Duration{0, time.Hour} {
		w.clock.SetTime(w.clock.Now().Add(after))
		w.taken()
		w.pass()
		if _, calls, _ := w.taken(); calls != look || w.gone() {
			t.Errorf("calls %q, gone %t", calls, w.gone())
		}
	}
	w.condition("Synced", "False/CreationUnresolved")
}

// What was created, does not show yet, and loses its object by force is told of, however often
// it was looked for.
func TestWhatDoesNotShowIsLeftByItsObject(t *testing.T) {
	w := newWorld(t)
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.pass()
	w.change(func(v *volume.Volume) { v.Finalizers = nil })
	w.delete()
	w.taken()
	w.pass()
	w.expect("", "", "Warning/ExternalResourceLeft")
}

// Nothing is remembered of an object that says by itself what is to be known of it, although no
// pass has connected for it.
func TestNothingIsRememberedOfWhatIsPaused(t *testing.T) {
	states := &objectstate.Handle{}
	w := newWorld(t, managed.WithObjectStates(states))
	w.create(annotate(meta.AnnotationKeyReconciliationPaused, "true"))
	w.pass()
	w.restart()
	w.pass()
	if r := states.Snapshot()[objectstate.Key{Object: key, UID: "uid-1"}]; r.Cold != nil || r.Written != nil ||
		!r.Known {
		t.Errorf("kept are %+v and %v", r.Cold, r.Written)
	}
}

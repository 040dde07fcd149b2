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

// TestNotFoundGracePeriod verifies that a resource is recreated after its grace period: that of the creation, or
// five seconds if it was observed before.
func TestNotFoundGracePeriod(t *testing.T) {
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

// TestARecentCreationIsDeletedByItsName verifies that a recent creation that is not observed yet is deleted by its
// name at once.
func TestARecentCreationIsDeletedByItsName(t *testing.T) {
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

// TestAResourceWithoutANameIsNotDeleted verifies that a creation without a stored name keeps the object, and is
// asked about.
func TestAResourceWithoutANameIsNotDeleted(t *testing.T) {
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

// TestWhatDoesNotShowIsLeftByItsObject verifies that an unobserved creation whose object is removed by force is
// reported.
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

// TestNothingIsRememberedOfWhatIsPaused verifies that nothing is remembered of a paused object that a pass has not
// connected for.
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

package managed_test

import (
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestWhatWasSeenIsNotLookedUpUnderAnotherName verifies that an observed resource is not looked up after a user has
// set another name and removed the status: that would revert the choice.
func TestWhatWasSeenIsNotLookedUpUnderAnotherName(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = time.Second
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.cloud.Put(volume.Disk{ID: "vol-77", SizeGiB: 1})
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "vol-77") })
	v := w.get()
	v.Status = volume.Volume{}.Status
	if err := w.API.Status().Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	w.taken()
	w.pass()
	if n := w.cloud.Count("Recover"); n != 0 {
		t.Errorf("looked up %d times", n)
	}
	if name := meta.GetExternalName(w.get()); name != "vol-77" {
		t.Errorf("the external name is %q again", name)
	}
}

// TestAnAbsenceIsDoubtedUnderEachName verifies that the grace period of a deletion starts again after the external
// name is corrected.
func TestAnAbsenceIsDoubtedUnderEachName(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(0))
	w.cloud.Named = true
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "typo") })
	w.delete()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(6 * time.Second)) // longer than one is doubted
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, key.Name) })
	w.cloud.Hidden = func(string) bool { return true } // for one look
	w.pass()
	if w.gone() {
		t.Fatalf("the object is let go, and %v is left over", w.cloud.Disks())
	}
	w.cloud.Hidden = nil
	w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
	w.pass()
	w.pass()
	if n := len(w.cloud.Disks()); n != 0 || !w.gone() {
		t.Errorf("%d disks, gone %t", n, w.gone())
	}
}

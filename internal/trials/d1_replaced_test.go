package trials

import (
	"testing"
	"time"
)

// TestD1ReplaceMakesNoSecondResource checks that a loss of metadata alone leads to no second
// resource. The object has its resource again after each replace.
func TestD1ReplaceMakesNoSecondResource(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		for range 2 {
			w.replace()
			w.run(5 * time.Minute)
			w.single()
		}
	})
}

// TestD1ReplaceThenDeleteLeaksNothing checks that a loss of metadata alone leaks no resource:
// the object exists as long as the resource that was created for it.
func TestD1ReplaceThenDeleteLeaksNothing(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.replace()
		w.Delete(atKey())
		w.run(5 * time.Minute)
		if disks := w.cloud.Disks(); w.Gone(atKey()) && len(disks) > 0 {
			w.Errorf("the object is gone, and %s is left", ids(disks))
		}
	})
}

// TestD1ReplaceWhileCreateLosesItsAnswer checks that a replace during a Create whose answer is
// lost leads to no second resource.
func TestD1ReplaceWhileCreateLosesItsAnswer(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(w.replace)
		w.create()
		w.run(10 * time.Minute)
		w.single()
	})
}

package trials

import (
	"testing"
	"time"
)

// TestD1ReplaceMakesNoSecondResource: whatever is taken from metadata alone, no second
// resource is made. The object stands for the first one again after each replace.
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

// TestD1ReplaceThenDeleteLeaksNothing: whatever is taken from metadata alone, no resource
// is let go: the object is not gone while what was created for it is there.
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

// TestD1ReplaceWhileCreateLosesItsAnswer: a replace in the middle of a Create whose
// answer is lost makes no second resource.
func TestD1ReplaceWhileCreateLosesItsAnswer(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.loseCreate(w.replace)
		w.create()
		w.run(10 * time.Minute)
		w.single()
	})
}

package managed

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// TestEveryDecisionIsExecuted verifies that every action has a method, that an action has an outcome exactly if it
// ends the pass, and that each admission of an object that was read has an outcome: without one, the zero value would
// release the object. ObserveAlone always fails, and Reconcile and Defer end nothing in a pass.
func TestEveryDecisionIsExecuted(t *testing.T) {
	for _, a := range lifecycle.Actions() {
		if steps[a] == nil {
			t.Errorf("%s has no method", a)
		}
		_, ends := endings[a]
		if want := a.Ends() && a != lifecycle.ObserveAlone; ends != want {
			t.Errorf("%s has an outcome: %t, want %t", a, ends, want)
		}
	}
	for a := range lifecycle.Admission(64) {
		f := lifecycle.AdmitFacts{Reading: lifecycle.Found}
		decided := false
		for bits := range 1 << 5 {
			f.Paused, f.Invalid, f.Deleted = bits&1 != 0, bits&2 != 0, bits&4 != 0
			f.HasFinalizer, f.MayDelete = bits&8 != 0, bits&16 != 0
			decided = decided || lifecycle.Admit(f) == a
		}
		ending, ends := unadmitted[a]
		if want := decided && a != lifecycle.Reconcile; ends != want {
			t.Errorf("%s has an outcome: %t, want %t", a, ends, want)
		}
		if ends && (ending.requeue == never) != (a == lifecycle.Orphan) {
			t.Errorf("%s releases the object: %t", a, ending.requeue == never)
		}
	}
}

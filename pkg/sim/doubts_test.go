package sim_test

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/sim"
)

// TestDoubts: an object that is created stays right in every class, with every option, too, whatever the
// platform says or keeps that is not so. TestSim does the same for all lives with -doubts.
func TestDoubts(t *testing.T) {
	for _, class := range sim.Classes() {
		for name, every := range map[string]bool{"usual options": false, "every option": true} {
			t.Run(class+"/"+name, func(t *testing.T) {
				e := sim.Explorer{
					Scenario: "create", Class: class, Depth: 1, Doubts: true,
					Run:   func(s sim.Schedule) sim.Result { return runWith(t, s, false, every) },
					Found: func(r sim.Result) { explain(t, r, every) },
				}
				if e.Explore(); e.Ran < 20 {
					t.Errorf("%d schedules ran", e.Ran)
				}
			})
		}
	}
}

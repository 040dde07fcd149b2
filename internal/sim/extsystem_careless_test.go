package sim_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
)

// TestCarelessClient checks that changes of annotations by a client break nothing, with any fault.
func TestCarelessClient(t *testing.T) {
	for _, scenario := range []string{"create", "update", "delete", "recover", "policy", "listed"} {
		for _, class := range sim.Classes() {
			if !sim.Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				e := search.Explorer{
					Scenario: scenario, Class: class, Depth: 1, Short: scenario != "listed", // which is short in itself
					Run:   func(s sim.Schedule) sim.Result { return sim.StageCareless(t, s) },
					Found: func(r sim.Result) { t.Errorf("%s: %v", r.Schedule, r.Violations) },
				}
				if e.Explore(); e.Ran < 20 {
					t.Errorf("%d schedules ran", e.Ran)
				}
			})
		}
	}
}

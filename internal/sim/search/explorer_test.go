package search

import (
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/internal/sim"
)

// simulator runs the schedules of all tests.
var simulator = sim.New()

// TestTriples checks that three faults during a creation break nothing, of the kinds that lead to other states than the
// rest.
func TestTriples(t *testing.T) {
	three := 0
	e := Explorer{
		Scenario: "create", Class: "opaque", Depth: 3, Short: true,
		Run: func(s sim.Schedule) (r sim.Result) {
			if len(s.Faults) == 3 {
				three++
			}
			synctest.Test(t, func(t *testing.T) {
				var err error
				if r, err = simulator.Run(s, false); err != nil {
					t.Fatal(err)
				}
			})

			return r
		},
		Found: func(r sim.Result) { t.Errorf("%s: %v", r.Schedule, r.Violations) },
	}
	if e.Explore(); three < 100 {
		t.Errorf("%d schedules had three faults", three)
	}
}

package search

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestEqualStateHashesContinueAlike checks that after equal state hashes the same operation follows. What depends on
// durations may differ, such as the order of retries: that is seldom.
func TestEqualStateHashesContinueAlike(t *testing.T) {
	for _, of := range []sim.Schedule{{Scenario: "create", Class: "opaque"}, {Scenario: "delete", Class: "named"},
		{Scenario: "recover", Class: "token"}} {
		next, repeated, differ := map[string]string{}, 0, 0
		e := Explorer{
			Scenario: of.Scenario, Class: of.Class, Depth: 2, Whole: true,
			Found: func(r sim.Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s sim.Schedule) (r sim.Result) {
				if len(s.Faults) > 1 {
					return r
				}
				synctest.Test(t, func(t *testing.T) { r, _ = simulator.Run(s, false) })
				for i, s := range r.Steps() {
					if i+1 == len(r.Steps()) || len(s.Faults) > 0 || s.Hash.Sum == 0 {
						continue
					}
					here, then := fmt.Sprint(s.Hash.Sum, s.Op.Name), r.Steps()[i+1].Op.Name
					if was, known := next[here]; !known {
						next[here] = then
					} else if repeated++; was != then {
						differ++
					}
				}

				return r
			},
		}
		e.Explore()
		t.Logf("%s: of %d that stood as others did, %d went on in another way", of, repeated, differ)
		if repeated < 1000 || differ*20 > repeated {
			t.Errorf("%s: of %d that stood as others did, %d went on in another way", of, repeated, differ)
		}
	}
}

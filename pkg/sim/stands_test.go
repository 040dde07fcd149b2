package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// TestSameStandSameSequel: where everything stands as it did in another run, the same
// happens next. What depends on how long something takes may differ, such as who is asked
// again first: that is seldom.
func TestSameStandSameSequel(t *testing.T) {
	for _, of := range []Schedule{{Scenario: "create", Class: "opaque"}, {Scenario: "delete", Class: "named"}, {Scenario: "recover", Class: "token"}} {
		next, met, differ := map[string]string{}, 0, 0
		e := Explorer{
			Scenario: of.Scenario, Class: of.Class, Depth: 2, Whole: true, Found: func(r Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s Schedule) (r Result) {
				if len(s.Faults) > 1 {
					return r
				}
				synctest.Test(t, func(t *testing.T) { r, _ = Run(s, false) })
				for i, s := range r.steps {
					if i+1 == len(r.steps) || len(s.faults) > 0 || s.stand.hash == 0 {
						continue
					}
					here, then := fmt.Sprint(s.stand.hash, s.op.name), r.steps[i+1].op.name
					if was, known := next[here]; !known {
						next[here] = then
					} else if met++; was != then {
						differ++
					}
				}

				return r
			},
		}
		e.Explore()
		t.Logf("%s: of %d that stood as others did, %d went on in another way", of, met, differ)
		if met < 1000 || differ*20 > met {
			t.Errorf("%s: of %d that stood as others did, %d went on in another way", of, met, differ)
		}
	}
}

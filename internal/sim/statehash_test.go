package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// TestEqualStateHashesContinueAlike: after equal state hashes the same operation follows. What depends on durations may
// differ, such as the order of retries: that is seldom.
func TestEqualStateHashesContinueAlike(t *testing.T) {
	for _, of := range []Schedule{{Scenario: "create", Class: "opaque"}, {Scenario: "delete", Class: "named"},
		{Scenario: "recover", Class: "token"}} {
		next, repeated, differ := map[string]string{}, 0, 0
		e := Explorer{
			Scenario: of.Scenario, Class: of.Class, Depth: 2, Whole: true,
			Found: func(r Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s Schedule) (r Result) {
				if len(s.Faults) > 1 {
					return r
				}
				synctest.Test(t, func(t *testing.T) { r, _ = Run(s, false) })
				for i, s := range r.steps {
					if i+1 == len(r.steps) || len(s.faults) > 0 || s.hash.sum == 0 {
						continue
					}
					here, then := fmt.Sprint(s.hash.sum, s.op.name), r.steps[i+1].op.name
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

package sim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLengthsOfOutages: the API server is away for 50 ms, for minutes, and for what lies between.
func TestLengthsOfOutages(t *testing.T) {
	var have []time.Duration
	for _, v := range kindsAt(operation{name: "patch", mutates: true}, false, true) {
		if v.kind == Outage {
			have = append(have, Fault{Kind: v.kind, For: v.last}.duration())
		}
	}
	slices.Sort(have)
	if len(have) < 5 || have[0] > 50*time.Millisecond || have[len(have)-1] < 10*time.Minute {
		t.Errorf("outages last for %v", have)
	}
}

// TestTriples: three faults in the life of an object that is created do no harm, of the kinds
// that lead elsewhere than others do.
func TestTriples(t *testing.T) {
	three := 0
	e := Explorer{
		Scenario: "create", Class: "opaque", Depth: 3, Short: true,
		Run: func(s Schedule) (r Result) {
			if len(s.Faults) == 3 {
				three++
			}
			synctest.Test(t, func(t *testing.T) {
				var err error
				if r, err = Run(s, false); err != nil {
					t.Fatal(err)
				}
			})

			return r
		},
		Found: func(r Result) { t.Errorf("%s: %v", r.Schedule, r.Violations) },
	}
	if e.Explore(); three < 100 {
		t.Errorf("%d schedules had three faults", three)
	}
}

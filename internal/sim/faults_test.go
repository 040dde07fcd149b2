package sim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestFaultsAtReads: a read that no cache answers may hang or be throttled; a read of a cache may not.
func TestFaultsAtReads(t *testing.T) {
	for op, want := range map[string]bool{"get": false, "live": true, "live:Namespace": true, "list": true} {
		o := operation{name: op}
		for _, kind := range []Kind{Hang, Throttle} {
			if got := slices.Contains(kindsAt(o, false, true), variant{kind: kind}); got != want {
				t.Errorf("%s at %s: %t", kind, op, got)
			}
			if e := (Explorer{}); want && e.combines(o, variant{kind: kind}) {
				t.Errorf("%s at %s is combined with others", kind, op)
			}
		}
	}
}

// TestLengthsOfOutages: the API server is unavailable for 50 ms, for minutes, and for times in between.
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

// TestTriples: three faults during a creation break nothing, of the kinds that lead to other states than the rest.
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

// TestReadsThatHang: a read that no cache answers and that hangs or is throttled breaks nothing, in any scenario.
func TestReadsThatHang(t *testing.T) {
	tried := 0
	for _, s := range scenarios {
		for _, class := range Classes() {
			if s.faultless || s.long || !Has(s.name, class) {
				continue
			}
			for _, f := range stage(t, Schedule{Scenario: s.name, Class: class}, "").FaultsAt(uncachedReads, nil) {
				tried++
				schedule := Schedule{Scenario: s.name, Class: class, Faults: []Fault{f}}
				if r := stage(t, schedule, ""); len(r.Violations) > 0 {
					t.Errorf("%s: %v", schedule, r.Violations)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d were tried", tried)
	}
}

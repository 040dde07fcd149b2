package sim

import (
	"flag"
	"slices"
	"testing"
	"time"
)

// TestFaultsAtReads checks that a read that no cache answers may hang or be throttled; a read of a cache may not.
func TestFaultsAtReads(t *testing.T) {
	for op, want := range map[string]bool{"get": false, "live": true, "live:Namespace": true, "list": true} {
		o := Operation{Name: op}
		for _, kind := range []Kind{Hang, Throttle} {
			if got := slices.Contains(KindsAt(o, false, true), Variant{Kind: kind}); got != want {
				t.Errorf("%s at %s: %t", kind, op, got)
			}
			if want && !RarelyPaired(o, kind) {
				t.Errorf("%s at %s is combined with others", kind, op)
			}
		}
	}
}

// TestLengthsOfOutages checks that the API server is unavailable for 50 ms, for minutes, and for times in between.
func TestLengthsOfOutages(t *testing.T) {
	var have []time.Duration
	for _, v := range KindsAt(Operation{Name: "patch", Mutates: true}, false, true) {
		if v.Kind == Outage {
			have = append(have, Fault{Kind: v.Kind, For: v.For}.duration())
		}
	}
	slices.Sort(have)
	if len(have) < 5 || have[0] > 50*time.Millisecond || have[len(have)-1] < 10*time.Minute {
		t.Errorf("outages last for %v", have)
	}
}

var everyRead = flag.Bool("every-read", false,
	"TestReadsThatHang tries the faults of all reads, not every third one of each scenario")

// TestReadsThatHang checks that a read that no cache answers and that hangs or is throttled breaks nothing, in any
// scenario. A read has two faults in a row, so one in three of them are of both kinds.
func TestReadsThatHang(t *testing.T) {
	tried, step := 0, 3
	if *everyRead {
		step = 1
	}
	for _, s := range scenarios {
		for _, class := range Classes() {
			if s.faultless || s.long || !Has(s.name, class) {
				continue
			}
			for i, f := range stage(t, Schedule{Scenario: s.name, Class: class}, "").FaultsAt(uncachedReads, nil) {
				if i%step != 0 {
					continue
				}
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

package sim

import (
	"slices"
	"testing"
)

// TestRandomMeetsEverything: random schedules have every kind of fault, at every
// operation that there is, in every scenario in which something goes wrong and every
// class.
func TestRandomMeetsEverything(t *testing.T) {
	met := map[string]bool{}
	for seed := range uint64(20_000) {
		s := Random(seed, 6)
		met["scenario "+s.Scenario], met["class "+s.Class] = true, true
		for _, f := range s.Faults {
			met["kind "+string(f.Kind)], met["operation "+f.Op] = true, true
			if f.Kind == Squat && !classes[s.Class].stamped {
				t.Errorf("seed %d: %s: nobody can tell owners there", seed, s)
			}
		}
	}
	var wanted []string
	for _, k := range kinds {
		wanted = append(wanted, "kind "+string(k.kind))
	}
	for _, s := range scenarios {
		if !s.calm && !s.long {
			wanted = append(wanted, "scenario "+s.name)
		}
		for _, class := range Classes() {
			wanted = append(wanted, "class "+class)
			if !Has(s.name, class) {
				continue
			}
			for _, op := range stage(t, Schedule{Scenario: s.name, Class: class}, "").Operations() {
				wanted = append(wanted, "operation "+op)
			}
		}
	}
	slices.Sort(wanted)
	for _, what := range slices.Compact(wanted) {
		if !met[what] {
			t.Errorf("no random schedule has the %s", what)
		}
	}
}

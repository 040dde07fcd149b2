package sim

import (
	"slices"
	"testing"
)

// TestRandomCoversEverything checks that random schedules have every kind of fault, every operation, every scenario
// with faults and every class.
func TestRandomCoversEverything(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20_000) {
		s := Random(seed, 6)
		seen["scenario "+s.Scenario], seen["class "+s.Class] = true, true
		for _, f := range s.Faults {
			seen["kind "+string(f.Kind)], seen["operation "+f.Op] = true, true
			if f.Kind == NameTaken && !classes[s.Class].stamped {
				t.Errorf("seed %d: %s: the class does not store owners", seed, s)
			}
		}
	}
	var wanted []string
	for _, k := range kinds {
		wanted = append(wanted, "kind "+string(k.kind))
	}
	for _, s := range scenarios {
		if !s.faultless && !s.long {
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
		if !seen[what] {
			t.Errorf("no random schedule has the %s", what)
		}
	}
}

package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
)

func runPlanned(t *testing.T, s sim.Schedule, trace bool) (r sim.Result, made map[string]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, made, err = sim.RunPlanned(s, trace, *everyOption, options(*everyOption)...); err != nil {
			t.Fatal(err)
		}
	})

	return r, made
}

// TestPlans checks for every scenario without faults that a plan is what a process does first. The command mutants
// reads the line that says what was found.
func TestPlans(t *testing.T) {
	made := map[string]int{}
	for i, s := range sim.Faultless() {
		r, planned := runPlanned(t, s, true)
		for action, n := range planned {
			made[action] += n
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s (%s): %s", s, v.Property, sim.Properties[v.Property], v.Text)
		}
		if len(r.Violations) > 0 {
			t.Log(strings.Join(r.Trace, "\n"))
			t.Logf("found %s after %d schedules by %s", r.Violations[0].Property, i+1, s)

			break
		}
	}
	for _, action := range slices.Sorted(maps.Keys(made)) {
		t.Logf("%s: %d", action, made[action])
	}
}

// A planCount counts what TestPlansWithFaults has compared.
type planCount struct {
	sync.Mutex

	made            map[string]int
	ran, violations int
}

// TestPlansWithFaults checks after each single fault that a plan is what a process does first: in a few scenarios, or
// in all of them (-long). The command mutants reads the line that says what was found.
func TestPlansWithFaults(t *testing.T) {
	count := planCount{made: map[string]int{}}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range sim.Faultless() {
			if !*long && (!slices.Contains([]string{"create", "recover", "delete", "policy", "guard"}, s.Scenario) ||
				s.Class != "named" && s.Class != "opaque" && s.Class != "findable") {
				continue
			}
			t.Run(s.Scenario+"/"+s.Class, func(t *testing.T) {
				t.Parallel()
				count.explore(t, s)
			})
		}
	})
	for _, action := range slices.Sorted(maps.Keys(count.made)) {
		fmt.Printf("compared_plans_%s: %d\n", strings.ToLower(action), count.made[action])
	}
	fmt.Printf("plan_schedules: %d\nplan_violations: %d\n", count.ran, count.violations)
	for _, action := range []string{"AskUser", "AwaitExistence", "Create", "Delete", "Keep", "Update"} {
		if count.made[action] == 0 {
			t.Errorf("%s was never planned", action)
		}
	}
}

// explore runs the scenario of a schedule with each single fault.
func (c *planCount) explore(t *testing.T, of sim.Schedule) {
	t.Helper()
	made := map[string]int{}
	// with few kinds, no fault is tried in these scenarios
	few := *short && !slices.Contains([]string{"guard", "guard-kind", "immutable", "backend"}, of.Scenario)
	var e search.Explorer
	e = search.Explorer{
		Scenario: of.Scenario, Class: of.Class, Depth: 1, Short: few, Whole: true,
		Run: func(s sim.Schedule) sim.Result {
			r, planned := runPlanned(t, s, false)
			for action, n := range planned {
				made[action] += n
			}

			return r
		},
		Found: func(r sim.Result) {
			for _, v := range r.Violations {
				t.Errorf("found %s after %d schedules by %s: %s", v.Property, e.Ran, r.Schedule, v.Text)
			}
		},
	}
	e.Explore()
	c.Lock()
	defer c.Unlock()
	c.ran += e.Ran
	c.violations += e.Violated
	for action, n := range made {
		c.made[action] += n
	}
}

package sim_test

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

var schedule = flag.String("schedule", "", "the schedule that TestReplay runs")

var everyOption = flag.Bool("every-option", false,
	"the reconciler of all tests has every option that changes when things are called")

// options of the reconciler. They are made anew in each bubble.
func options(every bool) []managed.ReconcilerOption {
	if !every {
		return nil
	}

	return []managed.ReconcilerOption{
		managed.WithAdaptivePoll(10 * time.Minute), managed.WithKstatusConditions(),
		managed.WithBulkObservation(0),
	}
}

// memoryLimit is the most memory, in bytes, that a process of the simulator uses before it collects garbage more often.
// Less than 50 MB are in use at a time, mostly by the results of requests that servers share (apiserver.Memory). The
// garbage collector also counts what is allocated while it runs, which is more on a busy machine.
const memoryLimit = 1 << 30

// TestMain trades memory for time. More than this costs time again: memory that was used lately is
// faster than new memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(500)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(m.Run())
}

// run runs a schedule in virtual time.
func run(t *testing.T, s sim.Schedule, trace bool) sim.Result {
	t.Helper()

	return runWith(t, s, trace, *everyOption)
}

func runWith(t *testing.T, s sim.Schedule, trace, every bool) sim.Result {
	t.Helper()
	var r sim.Result
	synctest.Test(t, func(t *testing.T) {
		run := sim.Run
		if every {
			run = sim.RunInformed
		}
		var err error
		if r, err = run(s, trace, options(every)...); err != nil {
			t.Fatal(err)
		}
	})

	return r
}

// TestReplay runs one schedule and prints its trace:
//
//	go test ./internal/sim -run TestReplay -v -schedule='create/opaque Create#1:lost'
func TestReplay(t *testing.T) {
	line := *schedule
	if line == "" {
		line = "create/named Create#1:crash-after"
	}
	s, err := sim.ParseSchedule(line)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, s, true)
	t.Logf("%s: lived %s, %d operations, %d passes\n%s", s, r.Lived, r.Boundaries(), r.Passes,
		strings.Join(r.Trace, "\n"))
	for _, v := range r.Violations {
		t.Errorf("%s (%s): %s", v.Property, sim.Properties[v.Property], v.Text)
	}
}

// TestWithoutFaults checks that every scenario passes without faults.
func TestWithoutFaults(t *testing.T) {
	for _, scenario := range sim.Scenarios() {
		for _, class := range sim.Classes() {
			if !sim.Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				r := run(t, sim.Schedule{Scenario: scenario, Class: class}, true)
				for _, v := range r.Violations {
					t.Errorf("%s (%s): %s", v.Property, sim.Properties[v.Property], v.Text)
				}
				if t.Failed() {
					t.Log(strings.Join(r.Trace, "\n"))
				}
			})
		}
	}
}

// TestEveryOption checks that limits, adaptive polls, lists and notifications break nothing, with any fault in the most
// frequent scenarios. With -every-option, TestSim does the same for all.
func TestEveryOption(t *testing.T) {
	for _, scenario := range []string{"create", "update", "delete", "recover", "listed", "notified"} {
		for _, class := range sim.Classes() {
			if !sim.Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				e := search.Explorer{
					// those are short in themselves
					Scenario: scenario, Class: class, Depth: 1, Short: scenario != "listed" && scenario != "notified",
					Run:   func(s sim.Schedule) sim.Result { return runWith(t, s, false, true) },
					Found: func(r sim.Result) { explain(t, r, true) },
				}
				if e.Explore(); e.Ran < 20 {
					t.Errorf("%d schedules ran", e.Ran)
				}
			})
		}
	}
}

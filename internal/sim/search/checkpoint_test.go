package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// since returns the steps of a run from one on, and its result.
func since(r sim.Result, step int) (out []string) {
	for _, e := range r.Steps()[step-r.Skipped():] {
		out = append(out, fmt.Sprint(e.At, e.Process, e.Pass, e.Op.Name, e.N, e.Hash, e.RestHash, e.Fired, e.Faults,
			e.Err))
	}

	return append(out, fmt.Sprint(r.Violations, r.Blocked, r.Passes, r.Lived, r.Processes, r.Together, r.AtOnce,
		r.Clocks, r.Boundaries(), r.Operations()))
}

// TestResumeFromCheckpoint checks that a run from a checkpoint equals a complete run, step by step, in its result, and
// in everything that the API server stores.
func TestResumeFromCheckpoint(t *testing.T) {
	for _, of := range []struct {
		scenario, class string
		depth           int
		runs, compares  int // one in so many
		relists         bool
	}{
		{"policy", "opaque", 2, 2, 6, false},
		{"recreate", "findable", 2, 2, 6, false},
		{"recover", "token", 2, 2, 6, false},
		{"lost-lease", "named", 2, 2, 4, false},
		{"publish", "named", 1, 3, 4, false},
		{"churn", "opaque", 1, 7, 4, false},
		{"rename", "named", 2, 3, 3, false},
		{"made-again", "opaque", 1, 5, 3, false},
		{"recreate", "findable", 2, 2, 6, true},
	} {
		name, tried, runs, skipped, compared := of.scenario+"/"+of.class, 0, 0, 0, 0
		e := Explorer{
			Scenario: of.scenario, Class: of.class, Depth: of.depth, Apart: true, Short: of.depth > 1,
			Found: func(r sim.Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s sim.Schedule) sim.Result {
				if tried++; len(s.Faults) > 0 && tried%of.runs != 0 {
					return sim.Result{}
				}
				by := s.Guide().(*follower)
				by.runs = nil // or the second run would end where the first has been
				r, had := ran(t, s)
				if runs++; r.Skipped() == 0 {
					return r
				}
				if skipped++; skipped%of.compares != 0 {
					return r
				}
				compared++
				whole := *by.query
				whole.resumeFrom, whole.recordTo, whole.steps = nil, nil, nil
				again, hasNow := ran(t, s.GuidedBy(&follower{query: &whole}))
				if diff := cmp.Diff(append(since(again, r.Skipped()), hasNow...),
					append(since(r, r.Skipped()), had...)); diff != "" {
					t.Errorf("%s is another from the middle on (-whole, +from the middle):\n%s", s, diff)
				}

				return r
			},
		}
		if of.relists {
			e.Short, e.Doubts, e.Without = false, true, slices.DeleteFunc(sim.Kinds(),
				func(k sim.Kind) bool { return k == sim.Relist || slices.Contains(companions, k) })
		}
		e.Explore()
		t.Logf("%s: %d of %d runs began in the middle, %d of them were compared", name, skipped, runs, compared)
		if skipped*5 < runs || compared < 20 {
			t.Errorf("%s: only %d of %d runs began in the middle, and %d were compared", name, skipped, runs, compared)
		}
	}
}

// ran runs a schedule, and also returns everything that was ever written to the API server.
func ran(t *testing.T, s sim.Schedule) (r sim.Result, had []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		of := &recordedRun{follower: s.Guide().(*follower)}
		var err error
		if r, err = simulator.Run(s.GuidedBy(of), false); err != nil {
			t.Fatal(err)
		}
		for _, c := range of.world.Changes() {
			written, err := json.Marshal(c.Object)
			if err != nil {
				t.Fatal(err)
			}
			had = append(had, fmt.Sprint(c.Type, c.Kind.Kind, c.Key, string(written)))
		}
	})

	return r, had
}

// A recordedRun is a follower that keeps the world of its run.
type recordedRun struct {
	*follower

	world *sim.World
}

func (o *recordedRun) Start(w *sim.World) sim.Guidance {
	o.world = w

	return o.follower.Start(w)
}

// figuresOf returns the figures of an Explorer.
func figuresOf(t *testing.T, run func(sim.Schedule) sim.Result) string {
	t.Helper()
	e := Explorer{
		Scenario: "create", Class: "named", Depth: 1, Short: true, Run: run,
		Found: func(r sim.Result) { t.Error(r.Schedule, r.Violations) },
	}
	base := e.Explore()

	return fmt.Sprint(e.Ran, e.Pruned, e.Blocked, base.Boundaries())
}

// TestRunWithoutCheckpoint checks that a schedule that cannot start from a checkpoint starts from its own beginning,
// with the same result.
func TestRunWithoutCheckpoint(t *testing.T) {
	begun := func(r sim.Result, err error) sim.Result {
		t.Helper()
		if err != nil || r.Skipped() > 0 {
			t.Errorf("%s began with %d steps of another: %v", r.Schedule, r.Skipped(), err)
		}

		return r
	}
	in := func(run func(sim.Schedule) (sim.Result, error)) func(sim.Schedule) sim.Result {
		return func(s sim.Schedule) (r sim.Result) {
			synctest.Test(t, func(*testing.T) { r = begun(run(s)) })

			return r
		}
	}
	middle := 0
	want := figuresOf(t, func(s sim.Schedule) (r sim.Result) {
		synctest.Test(t, func(t *testing.T) { r, _ = simulator.Run(s, false) })
		middle += r.Skipped()

		return r
	})
	if middle == 0 {
		t.Error("nothing begins in the middle, whatever is asked")
	}
	for reason, explore := range map[string]func() string{
		"its whole trace is wanted": func() string {
			return figuresOf(t,
				in(func(s sim.Schedule) (sim.Result, error) { return simulator.Run(s, true) }))
		},
		"an option may remember something": func() string {
			return figuresOf(t, in(func(s sim.Schedule) (sim.Result, error) {
				return simulator.Run(s, false,
					managed.WithKstatusConditions())
			}))
		},
		"it begins at another time": func() (got string) {
			synctest.Test(t, func(t *testing.T) {
				got = figuresOf(t,
					func(s sim.Schedule) sim.Result { return begun(simulator.Run(s, false)) })
			})

			return got
		},
	} {
		if got := explore(); reason != "an option may remember something" && got != want {
			t.Errorf("%s: ran, pruned, blocked and boundaries are %s, not %s", reason, got, want)
		}
	}
}

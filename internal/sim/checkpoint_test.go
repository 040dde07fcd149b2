package sim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// since returns the steps of a run from one on, and its result.
func (r Result) since(step int) (out []string) {
	for _, e := range r.steps[step-r.skipped:] {
		out = append(out, fmt.Sprint(e.at, e.process, e.pass, e.op.name, e.n, e.hash, e.restHash, e.fired, e.faults,
			e.err))
	}

	return append(out, fmt.Sprint(r.Violations, r.Blocked, r.Passes, r.Lived, r.Processes, r.Together, r.AtOnce,
		r.Clocks, r.Boundaries(), r.Operations()))
}

// TestResumeFromCheckpoint: a run from a checkpoint equals a complete run, step by step, in its result, and in
// everything that the API server stores.
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
			Found: func(r Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s Schedule) Result {
				if tried++; len(s.Faults) > 0 && tried%of.runs != 0 {
					return Result{}
				}
				s.query.runs = nil // or the second run would end where the first has been
				r, had := ran(t, s)
				if runs++; r.skipped == 0 {
					return r
				}
				if skipped++; skipped%of.compares != 0 {
					return r
				}
				compared++
				whole := *s.query
				whole.resumeFrom, whole.recordTo, whole.steps = nil, nil, nil
				s.query = &whole
				again, hasNow := ran(t, s)
				if diff := cmp.Diff(append(again.since(r.skipped), hasNow...),
					append(r.since(r.skipped), had...)); diff != "" {
					t.Errorf("%s is another from the middle on (-whole, +from the middle):\n%s", s, diff)
				}

				return r
			},
		}
		if of.relists {
			e.Short, e.Doubts, e.without = false, true, slices.DeleteFunc(everyKind(),
				func(k Kind) bool { return k == Relist || slices.Contains(companions, k) })
		}
		e.Explore()
		t.Logf("%s: %d of %d runs began in the middle, %d of them were compared", name, skipped, runs, compared)
		if skipped*5 < runs || compared < 20 {
			t.Errorf("%s: only %d of %d runs began in the middle, and %d were compared", name, skipped, runs, compared)
		}
	}
}

// everyKind returns all kinds of faults.
func everyKind() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	for _, d := range doubts {
		all = append(all, d.kind)
	}

	return all
}

// ran runs a schedule, and also returns everything that was ever written to the API server.
func ran(t *testing.T, s Schedule) (r Result, had []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var of *World
		var err error
		if r, err = runIn(s, false, nil, func(w *World) { of = w }); err != nil {
			t.Fatal(err)
		}
		for _, c := range of.server.Changes(0) {
			written, err := json.Marshal(c.Object)
			if err != nil {
				t.Fatal(err)
			}
			had = append(had, fmt.Sprint(c.Type, c.Kind.Kind, c.Key, string(written)))
		}
	})

	return r, had
}

// figuresOf returns the figures of an Explorer.
func figuresOf(t *testing.T, run func(Schedule) Result) string {
	t.Helper()
	e := Explorer{
		Scenario: "create", Class: "named", Depth: 1, Short: true, Run: run,
		Found: func(r Result) { t.Error(r.Schedule, r.Violations) },
	}
	base := e.Explore()

	return fmt.Sprint(e.Ran, e.Pruned, e.Blocked, base.Boundaries())
}

// TestRunWithoutCheckpoint: a schedule that cannot start from a checkpoint starts from its own beginning, with the same
// result.
func TestRunWithoutCheckpoint(t *testing.T) {
	begun := func(r Result, err error) Result {
		t.Helper()
		if err != nil || r.skipped > 0 {
			t.Errorf("%s began with %d steps of another: %v", r.Schedule, r.skipped, err)
		}

		return r
	}
	in := func(run func(Schedule) (Result, error)) func(Schedule) Result {
		return func(s Schedule) (r Result) {
			synctest.Test(t, func(*testing.T) { r = begun(run(s)) })

			return r
		}
	}
	middle := 0
	want := figuresOf(t, func(s Schedule) (r Result) {
		synctest.Test(t, func(t *testing.T) { r, _ = Run(s, false) })
		middle += r.skipped

		return r
	})
	if middle == 0 {
		t.Error("nothing begins in the middle, whatever is asked")
	}
	for reason, explore := range map[string]func() string{
		"its whole trace is wanted": func() string {
			return figuresOf(t,
				in(func(s Schedule) (Result, error) { return Run(s, true) }))
		},
		"an option may remember something": func() string {
			return figuresOf(t, in(func(s Schedule) (Result, error) {
				return Run(s, false,
					managed.WithKstatusConditions())
			}))
		},
		"it begins at another time": func() (got string) {
			synctest.Test(t, func(t *testing.T) {
				got = figuresOf(t,
					func(s Schedule) Result { return begun(Run(s, false)) })
			})

			return got
		},
	} {
		if got := explore(); reason != "an option may remember something" && got != want {
			t.Errorf("%s: ran, pruned, blocked and boundaries are %s, not %s", reason, got, want)
		}
	}
}

// TestSnapshotIsComplete: for each field of a reconciler, a process and a world it is decided whether passes change it,
// so that a snapshot has to contain it. A new field has to be added here.
func TestSnapshotIsComplete(t *testing.T) {
	for of, decided := range map[reflect.Type][]string{
		reflect.TypeFor[managed.Reconciler](): {
			"objects", // is in the snapshot
			// is set when it is made: what options set, by the parts of config, and the rest
			"connecter", "fence", "lease", "bulk", "staleness", "notifier",
			"timeout", "pollInterval", "minPollInterval", "pollIntervalHook", "watchedPollInterval", "grace",
			"volatileInterval", "spread",
			"named", "tokens", "strictCreateErrors", "detailsOfCreation", "recreateOnRequest", "restoreElsewhere",
			"adoption", "adoptionPolicy", "allowedAdoptionPolicies",
			"initializers", "resolver", "publisher", "secretType", "finalizer", "critical", "supported", "guards",
			"ignoredFinalizers", "predecessors", "retired", "volatile", "kstatus",
			"log", "recorder", "warningRecorder", "changes", "provider", "providerVersion", "observability",
			"cluster", "watches", "unchecked", "states", "clock", "random",
			"of", "empty", "deletionPolicy", "client", "createdAt", "elected", "invalid",
			// are unused, or do not matter, in a world of which snapshots are taken
			"graph", "tracker", "watching", "restores", "calls", "inFlight", "stopRestoreWatch", "limits", "lists", "waker",
			"pruned", "telemetry", "pace", "createErrorLog",
		},
		reflect.TypeFor[process](): {
			"number", "began", "clock", "dead", "cache", "queue", "known", "turns", "mutations", "raceDeleted",
			"attempted",
			"observations", "observed", "details", "unstored", "asksSecret", "knowledge", "states",
			"unanswered", // are in the snapshot
			"world", "ctx", "cancel", "reconcile", "watches", "meters", "restores", "beside", "equipment", "subscribe",
			"referents", // are made anew
			"observing", "active", "held", "stopping", "by", "asked", "deposed", "renewed", "excused", "done",
			"outdated", "leaving", "left", "ends", // are nothing when one is taken
		},
		reflect.TypeFor[World](): {
			"state", "random", "source", "processes", // are in the snapshot
			"config", "server", "users", "sinks", "meters", "began", "faults", "planned", "refusals", "scenario",
			"begins", "diverged", "phase", "resting", "exploration", // are set by the scenario
			"external", "system", "expect", "verbose", "secrets", "shortest", "pace", "patient", "leaksSecrets",
			"restored",
			"callsMayBlock", "backward",
			"events", "over", "trace", "trail", // are nothing when one is taken, or begin anew
		},
	} {
		has := leaves(of, decided)
		for _, name := range has {
			if !slices.Contains(decided, name) {
				t.Errorf("it was not decided whether a snapshot contains %s of %s", name, of)
			}
		}
		for _, name := range decided {
			if !slices.Contains(has, name) {
				t.Errorf("it was decided whether a snapshot contains %s of %s, which has no such field", name, of)
			}
		}
	}
}

// leaves returns the names of the fields of a struct. Of an embedded struct that was not decided as a whole it returns
// those of its fields instead.
func leaves(of reflect.Type, decided []string) (names []string) {
	for field := range of.Fields() {
		if field.Anonymous && field.Type.Kind() == reflect.Struct && !slices.Contains(decided, field.Name) {
			names = append(names, leaves(field.Type, decided)...)
		} else {
			names = append(names, field.Name)
		}
	}

	return names
}

package sim

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Since is what a run did from some step on, and what became of it.
func (r Result) since(step int) (out []string) {
	for _, e := range r.steps[step-r.skipped:] {
		out = append(out, fmt.Sprint(e.at, e.process, e.pass, e.op.name, e.n, e.stand, e.rest, e.faults, e.err))
	}

	return append(out, fmt.Sprint(r.Violations, r.Blocked, r.Passes, r.Lived, r.Processes, r.Together, r.AtOnce, r.Clocks))
}

// TestFromTheMiddle: a run that begins with what another has done goes on as if it had done
// that itself, step by step, and the same becomes of it.
func TestFromTheMiddle(t *testing.T) {
	for _, of := range []Schedule{{Scenario: "policy", Class: "opaque"}, {Scenario: "recreate", Class: "findable"}} {
		runs, skipped, compared := 0, 0, 0
		e := Explorer{
			Scenario: of.Scenario, Class: of.Class, Depth: 2, Short: true, Found: func(r Result) { t.Error(r.Schedule, r.Violations) },
			Run: func(s Schedule) (r Result) {
				s.inquiry.ends = nil // or the second run would end where the first has been
				synctest.Test(t, func(t *testing.T) { r = ran(t, s) })
				if runs++; r.skipped == 0 {
					return r
				}
				if skipped++; skipped%3 != 0 {
					return r
				}
				compared++
				whole := *s.inquiry
				whole.from, whole.to, whole.steps = nil, nil, nil
				s.inquiry = &whole
				synctest.Test(t, func(t *testing.T) {
					if diff := cmp.Diff(ran(t, s).since(r.skipped), r.since(r.skipped)); diff != "" {
						t.Errorf("%s is another from the middle on (-whole, +from the middle):\n%s", s, diff)
					}
				})

				return r
			},
		}
		e.Explore()
		t.Logf("%s/%s: %d of %d runs began in the middle, %d of them were compared", of.Scenario, of.Class, skipped, runs, compared)
		if skipped*2 < runs {
			t.Errorf("%s/%s: only %d of %d runs began in the middle", of.Scenario, of.Class, skipped, runs)
		}
	}
}

func ran(t *testing.T, s Schedule) Result {
	t.Helper()
	r, err := Run(s, false)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

// TestWhatIsInAPicture: of all that a reconciler, a process and a world are made of, it was
// decided whether passes change it, so that it has to be in a picture. Who adds to it has
// to decide.
func TestWhatIsInAPicture(t *testing.T) {
	for of, decided := range map[reflect.Type][]string{
		reflect.TypeFor[managed.Reconciler](): {
			"memory", // is in the picture
			// are set when it is made
			"of", "cluster", "client", "connecter", "initializers", "resolver", "publisher", "finalizer", "critical", "timeout", "pollInterval", "minPollInterval",
			"grace", "volatileInterval", "pollIntervalHook", "named", "tokens", "errorsAsFailures", "guarded", "adoption", "bulk", "staleness", "notifier", "pollWhenTold",
			"fence", "lease", "volatile", "ignoredFinalizers", "supported", "kstatus", "spread", "log", "record", "warn", "changes", "clock", "made", "random",
			"provider", "providerVersion", "observability", "watches",
			// are nothing, or nobody's business, in a world of which pictures are taken
			"graph", "tracker", "watching", "limits", "roll", "waker", "pruned", "telemetry",
		},
		reflect.TypeFor[process](): {
			"number", "began", "clock", "dead", "cache", "queue", "knows", "turns", "mutations", "snatched", "tried", "looked", "observed", "details", "mind", // are in the picture
			"world", "ctx", "cancel", "reconcile", "watches", "meters", // are made anew
			"observing", "active", "held", "stopping", "deposed", "renewed", "excused", "done", // are nothing when one is taken
		},
		reflect.TypeFor[World](): {
			"state", "random", "source", "processes", // are in the picture
			"config", "server", "users", "told", "meters", "began", "faults", "planned", "scenario", "begins", "turned", "phase", "resting", "course", // are told by the story
			"outside", "harbour", "expect", "verbose", "secrets", "shortest", "pace", "patient", "talks",
			"events", "over", "trace", "trail", // are nothing when one is taken, or begin anew
		},
	} {
		for i := range of.NumField() {
			if name := of.Field(i).Name; !slices.Contains(decided, name) {
				t.Errorf("it was not decided whether %s of %s is in a picture", name, of)
			}
		}
	}
}

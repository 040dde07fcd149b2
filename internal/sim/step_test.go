package sim_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestFaultEffects checks that faults have their effects on processes and clocks.
func TestFaultEffects(t *testing.T) {
	for line, want := range map[string]struct {
		reason                                       string
		processes, together, atOnce, overdue, clocks int
	}{
		"create/named":                      {"one process with one worker", 1, 1, 1, 0, 1},
		"made-again/opaque":                 {"a new version of the provider", 2, 1, 1, 0, 1},
		"create/named Create#1:crash-after": {"a restart", 2, 1, 1, 0, 1},
		"create/opaque patch#1:stop-after":  {"a restart after a graceful shutdown", 2, 1, 1, 0, 1},
		"create/token patch#2:clock-back":   {"a restart with another clock", 2, 1, 1, 0, 2},
		"create/token Observe#1:lease-lost": {"two processes at once, with two clocks", 2, 2, 1, 1, 2},
		"two/token Observe#1:lease-lost": {"a process that goes on with what waits for it until it notices", 2,
			2, 1, 2, 2},
		"update/named patch/status#1:outage(2m)": {"an outage that outlasts the lease", 2, 1, 1, 0, 1},
		"update/named patch/status#1:outage(1s)": {"an outage that does not", 1, 1, 1, 0, 1},
		"alone/named patch/status#1:outage(2m)":  {"an outage without a lease", 1, 1, 1, 0, 1},
		"alone/named Create#1:lease-lost(1m)":    {"a process without a lease that is held up", 1, 1, 1, 0, 1},
		"workers/opaque":                         {"three workers", 1, 1, 3, 0, 1},
		"workers/token Connect#1:stop Connect#1:stale": {"a process that dies while it stops has one successor", 2,
			1, 3, 0,
			1},
		"create/named Observe#1:deaf":           {"a call that never returns: the process is restarted", 2, 1, 1, 0, 1},
		"create/named Observe#1:deaf-after(2m)": {"a call that returns late", 1, 1, 1, 0, 1},
		"workers/opaque Create#1:deaf":          {"others are worked on while a worker waits", 2, 1, 3, 0, 1},
		"workers/opaque Create#1:crash":         {"a restart in the middle of several passes", 2, 1, 3, 0, 1},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, false)
		if r.Processes != want.processes || r.Together != want.together || r.AtOnce != want.atOnce ||
			r.Overdue != want.overdue || r.Clocks != want.clocks {
			t.Errorf("%s (%s): %d processes, %d together, %d passes at once, %d overdue, %d clocks; want %+v", line,
				want.reason,
				r.Processes, r.Together, r.AtOnce, r.Overdue, r.Clocks, want)
		}
	}
}

// TestStaleCacheLeadsToConflicts checks that a process with a stale cache begins with an older object than one that has
// just crashed, and has conflicts.
func TestStaleCacheLeadsToConflicts(t *testing.T) {
	for fault, want := range map[string]bool{"stale": true, "crash": false} {
		s, err := sim.ParseSchedule("update/opaque Update#1:" + fault)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, true)
		if got := strings.Contains(strings.Join(r.Trace, "\n"), "the object has been modified"); got != want {
			t.Errorf("%s: a conflict: %t", s, got)
		}
	}
}

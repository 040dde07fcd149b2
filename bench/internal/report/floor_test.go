package report

import (
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

// TestFloor checks the floor against numbers, and not only against itself.
func TestFloor(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*load.Result)
		found  string
	}{
		"Floor": {reason: "the floor of a good run", change: func(*load.Result) {}},
		"Burst": {reason: "it looks at all at once after a restart", change: func(r *load.Result) { r.RestartBusiest = 10 },
			found: "busiest"},
		"Refused": {reason: "it may be refused a write then", change: func(r *load.Result) { r.RestartWrites = 3 }},
		"Create": {reason: "one request more for each", change: func(r *load.Result) { r.CreateRequests = 4 },
			found: "to Ready"},
		"Named": {reason: "one more with a name", change: func(r *load.Result) { r.NamedRequests = 3 },
			found: "chosen name"},
		"Steady": {reason: "a single request", change: func(r *load.Result) { r.SteadyRequests = 0.0001 },
			found: "steady pass"},
		"Delete": {reason: "two requests for each", change: func(r *load.Result) { r.DeleteRequests = 2 },
			found: "per delete"},
		"Mallocs": {reason: "what others may", change: func(r *load.Result) { r.PassMallocs = 80 }, found: "allocations"},
		"Missing": {reason: "nothing to compare with", change: func(r *load.Result) { r.QuietCPU = 0 },
			found: "not measured"},
		"Verb": {reason: "it patches", change: func(r *load.Result) { r.Requests["delete"]["PUT widgets"] = 1 },
			found: "PUT widgets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := load.Result{
				Measured: load.Measured{
					CreateRequests: 3, DeleteRequests: 1, ReadyAfter: 1, GoneAfter: 1, ReadyCPU: 1, GoneCPU: 1, ReadyServer: 1,
					GoneServer: 1,
					QuietCPU:   time.Microsecond, StormCPU: 1, PassMallocs: 41, Mallocs: 86, Heap: 3500, UserP50: 1, UserP99: 1,
					PollCalls:      1000,
					RestartBusiest: 1, RestartUser: 1,
				},
				NamedRequests: 2, ReadyEventsAfter: 1, GoneEventsAfter: 1, CreateCPU: 1, DeleteCPU: 1, CreateCalls: 2,
				DeleteCalls: 3, OldestPoll: 1.1,
				Requests: map[string]map[string]int{"create": {"PATCH widgets": 2}, "delete": {"PATCH widgets": 1}},
			}
			tc.change(&r)
			found := Floor(r)
			if (tc.found == "") != (len(found) == 0) || !strings.Contains(strings.Join(found, "\n"), tc.found) {
				t.Errorf("%s: found %q", tc.reason, found)
			}
		})
	}
}

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

func TestBounds(t *testing.T) {
	floor := load.Result{Measured: load.Measured{QuietCPU: 20 * time.Microsecond, CreateRequests: 3}}
	cases := map[string]struct {
		reason string
		result load.Result
		over   string
	}{
		"Same": {reason: "the floor keeps every bound", result: floor},
		"Ratio": {reason: "a ratio is one to the floor",
			result: load.Result{Measured: load.Measured{QuietCPU: 31 * time.Microsecond, CreateRequests: 3}}, over: "quiet"},
		"Value": {reason: "a count is bounded by itself", result: load.Result{Measured: load.Measured{CreateRequests: 3.1}},
			over: "requests to Ready"},
		"Zero": {reason: "nothing is nothing", result: load.Result{Measured: load.Measured{SteadyRequests: 0.0001}},
			over: "steady pass"},
		"Unbound": {reason: "a figure for orientation is never over", result: load.Result{CreateCPU: time.Hour}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			over, _, err := Write(&out, "moorage", Compare(floor, tc.result))
			if err != nil {
				t.Fatal(err)
			}
			if want := tc.over != ""; (over > 0) != want {
				t.Errorf("%s: %d over\n%s", tc.reason, over, &out)
			}
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "does not hold") && !strings.Contains(line, tc.over) {
					t.Errorf("%s: over: %s", tc.reason, line)
				}
			}
		})
	}
}

func TestPage(t *testing.T) {
	results := []load.Result{
		{Contender: "floor", Measured: load.Measured{QuietCPU: 20 * time.Microsecond, PollCalls: 1000}},
		{
			Contender: "moorage", Measured: load.Measured{QuietCPU: 40 * time.Microsecond, PollCalls: 1000, Heap: 5000},
			Requests: map[string]map[string]int{"create": {"PATCH widgets/status": 1, "PATCH widgets": 2}},
		},
		{Contender: "bulk", Measured: load.Measured{QuietCPU: 20 * time.Microsecond, PollCalls: 4, Heap: 4400}},
	}
	page, err := Fill("a\n<!-- generated: figures -->\nwhat was\n<!-- end -->\nb\n",
		Markdown(Setting{Objects: 5000, Rounds: 3, Processors: 2, Go: "go1.99"}, results))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "what was") || !strings.HasPrefix(page, "a\n") || !strings.HasSuffix(page, "-->\nb\n") {
		t.Errorf("the table is not where it belongs:\n%s", page)
	}
	for _, row := range []string{
		"5000 objects, 3 rounds, 2 processors, go1.99.\n",
		"| CPU per pass, storm | 0 µs | 0 µs | - | 2x floor, **not measured** | 0 µs | - | 2x floor, **not measured** |",
		"| CPU per steady pass, quiet | 20 µs | 40 µs | 2.00 | 1.5x floor, **does not hold** | 20 µs | 1.00 | 1.5x floor |",
		"| external calls per poll cycle of 1,000 | 1000 | 1000 | 1.00 | - | 4 | 0.00 | 4.5 |",
		"| heap per cached object | 0 B | 5000 B | - | 4500, **does not hold** | 4400 B | - | 4500 |",
		"| create | none | 2 PATCH widgets, 1 PATCH widgets/status | none |",
	} {
		if !strings.Contains(page, row+"\n") {
			t.Errorf("no row %q in\n%s", row, page)
		}
	}
	if _, err := Fill("a page", "a table"); err == nil {
		t.Error("a page without room for figures was filled")
	}
}

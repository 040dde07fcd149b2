package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

// The markers round the figures in a page.
const (
	regionBegin = "<!-- generated: figures -->"
	regionEnd   = "<!-- end -->"
)

// A Setting describes the machine and the scenario of the figures.
type Setting struct {
	Objects, Rounds, Processors int
	Go                          string // its version
}

// Markdown returns a table of all contenders, the floor first, below a line about the setting.
func Markdown(s Setting, results []load.Result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d objects, %d rounds, %d processors, %s.\n\n", s.Objects, s.Rounds, s.Processors, s.Go)
	out.WriteString("| figure | floor |")
	for _, r := range results[1:] {
		fmt.Fprintf(&out, " %s | ratio | at most |", r.Contender)
	}
	out.WriteString("\n|---|---|" + strings.Repeat("---|---|---|", len(results)-1) + "\n")
	for i, m := range measures {
		fmt.Fprintf(&out, "| %s | %s |", m.name, value(m.of(results[0]), m.unit))
		for _, r := range results[1:] {
			f := Compare(results[0], r)[i]
			verdict := bound(f)
			switch {
			case f.Over():
				verdict += ", **does not hold**"
			case f.Unmeasured():
				verdict += ", **not measured**"
			}
			fmt.Fprintf(&out, " %s | %s | %s |", value(f.Value, m.unit), ratio(f), verdict)
		}
		out.WriteString("\n")
	}
	out.WriteString("\nThe requests of each phase, in the round with the most requests:\n\n| phase |")
	for _, r := range results {
		fmt.Fprintf(&out, " %s |", r.Contender)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, phase := range phases {
		fmt.Fprintf(&out, "| %s |", phase)
		for _, r := range results {
			fmt.Fprintf(&out, " %s |", requests(r.Requests[phase]))
		}
		out.WriteString("\n")
	}

	return out.String()
}

// phases are the phases in which requests are counted.
var phases = []string{"create", "named", "steady", "restart", "delete"}

// requests formats counts of requests, sorted by kind.
func requests(of map[string]int) string {
	var each []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		each = append(each, fmt.Sprintf("%d %s", of[what], what))
	}
	if len(each) == 0 {
		return "none"
	}

	return strings.Join(each, ", ")
}

func value(v float64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit))
}

// Fill puts a table between the markers of a page. A page without markers is an error.
func Fill(page, table string) (string, error) {
	before, rest, ok := strings.Cut(page, regionBegin)
	_, after, closed := strings.Cut(rest, regionEnd)
	if !ok || !closed {
		return "", fmt.Errorf("the page has no %s ... %s", regionBegin, regionEnd)
	}

	return before + regionBegin + "\n\n" + table + "\n" + regionEnd + after, nil
}

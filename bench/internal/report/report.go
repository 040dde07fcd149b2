// Package report compares contenders with the floor.
package report

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/load"
	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// A Figure is one row of the table.
type Figure struct {
	Name  string
	Floor float64
	Value float64
	Unit  string
	Most  float64 // a bound of the value, or of its ratio to the floor
	Ratio bool    // Most is of the ratio
	Free  bool    // this contender has no bound
}

// Over reports whether the value is over its bound.
func (f Figure) Over() bool {
	if !bounded(f) {
		return false
	}
	if f.Ratio {
		return f.Value > f.Most*f.Floor
	}

	return f.Value > f.Most
}

// Unmeasured reports whether the value is missing: only a figure bounded by zero may be zero.
func (f Figure) Unmeasured() bool { return f.Value <= 0 && (f.Ratio || f.Most > 0) }

// A measure is the source of a row.
type measure struct {
	name  string
	unit  string
	most  float64
	ratio bool
	of    func(load.Result) float64
	only  string // the contender whose bound it is; empty for all
}

// unbounded is in place of a contender for a figure without a bound, which only explains others.
const unbounded = "unbounded"

const tolerance = 0.005 // requests per object: allows some conflicts among five thousand

var measures = []measure{
	{"requests to Ready per object", "", 3 + tolerance, false, func(r load.Result) float64 { return r.CreateRequests },
		""},
	{"requests to Ready, chosen name", "", 2 + tolerance, false,
		func(r load.Result) float64 { return r.NamedRequests }, ""},
	{"requests per steady pass", "", 0, false, func(r load.Result) float64 { return r.SteadyRequests }, ""},
	{"requests per delete", "", 1 + tolerance, false, func(r load.Result) float64 { return r.DeleteRequests }, ""},
	{"time until all are Ready", "s", 1.3, true, func(r load.Result) float64 { return r.ReadyAfter.Seconds() }, ""},
	{"time until all are gone", "s", 1.3, true, func(r load.Result) float64 { return r.GoneAfter.Seconds() }, ""},
	{"CPU per object until all are Ready", "µs", 0, true, func(r load.Result) float64 { return micros(r.ReadyCPU) }, ""},
	{"CPU per object until all are gone", "µs", 0, true, func(r load.Result) float64 { return micros(r.GoneCPU) }, ""},
	{"CPU of the API server per object until all are Ready", "µs", 0, true,
		func(r load.Result) float64 { return micros(r.ReadyServer) }, ""},
	{"CPU of the API server per object until all are gone", "µs", 0, true,
		func(r load.Result) float64 { return micros(r.GoneServer) }, ""},
	{"events per object until all are Ready", "", 0, false, func(r load.Result) float64 { return r.ReadyEvents },
		unbounded},
	{"events per object until all are gone", "", 0, false, func(r load.Result) float64 { return r.GoneEvents }, unbounded},
	{"external calls per object created", "", 0, true, func(r load.Result) float64 { return r.CreateCalls }, ""},
	{"external calls per object deleted", "", 0, true, func(r load.Result) float64 { return r.DeleteCalls }, ""},
	{"time until the last creation event", "s", 0, true,
		func(r load.Result) float64 { return r.ReadyEventsAfter.Seconds() }, ""},
	{"time until the last deletion event", "s", 0, true,
		func(r load.Result) float64 { return r.GoneEventsAfter.Seconds() }, ""},
	{"CPU per object created, with events", "µs", 0, true, func(r load.Result) float64 { return micros(r.CreateCPU) },
		""},
	{"CPU per object deleted, with events", "µs", 0, true, func(r load.Result) float64 { return micros(r.DeleteCPU) },
		""},
	{"CPU per steady pass, quiet", "µs", 1.5, true, func(r load.Result) float64 { return micros(r.QuietCPU) }, ""},
	{"CPU per pass, storm", "µs", 2, true, func(r load.Result) float64 { return micros(r.StormCPU) }, ""},
	{"allocations per steady pass", "", 80, false, func(r load.Result) float64 { return r.PassMallocs }, ""},
	{"allocations with queue and workers", "", 0, true, func(r load.Result) float64 { return r.Mallocs }, ""},
	{"heap per cached object", "B", 4500, false, func(r load.Result) float64 { return r.Heap }, ""},
	{"external calls per poll cycle of 1,000", "", 4.5, false, func(r load.Result) float64 { return r.PollCalls },
		provider.Bulk},
	{"a user's change in a storm, p50", "ms", 0, true, func(r load.Result) float64 { return millis(r.UserP50) }, ""},
	{"a user's change in a storm, p99", "ms", 1.15, true, func(r load.Result) float64 { return millis(r.UserP99) }, ""},
	{"oldest poll while users change objects", "intervals", 2, false,
		func(r load.Result) float64 { return r.OldestPoll }, ""},
	{"writes after a restart", "", 0, false, func(r load.Result) float64 { return r.RestartWrites }, ""},
	{"busiest second after a restart", "x even", 2, false, func(r load.Result) float64 { return r.RestartBusiest }, ""},
	{"a user's change after a restart", "ms", 1000, false, func(r load.Result) float64 { return millis(r.RestartUser) },
		""},
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Compare returns the figures of a contender beside those of the floor.
func Compare(floor, r load.Result) []Figure {
	var out []Figure
	for _, m := range measures {
		out = append(out, Figure{Name: m.name, Floor: m.of(floor), Value: m.of(r), Unit: m.unit, Most: m.most, Ratio: m.ratio,
			Free: m.only != "" && m.only != r.Contender})
	}

	return out
}

// Requests writes the number of requests of a contender, by phase and verb.
func Requests(out io.Writer, r load.Result) error {
	for _, phase := range phases {
		if _, err := fmt.Fprintf(out, "%s, %s: %s\n", r.Contender, phase, requests(r.Requests[phase])); err != nil {
			return err
		}
	}

	return nil
}

// Write writes a table of the figures of a contender. It returns how many figures are over their bounds, and how many
// were not measured.
func Write(out io.Writer, contender string, figures []Figure) (over, unmeasured int, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "figure\tfloor\t%s\tratio\tat most\t\t\n", contender)
	for _, f := range figures {
		verdict := ""
		switch {
		case f.Over():
			over++
			verdict = "does not hold"
		case f.Unmeasured():
			unmeasured++
			verdict = "not measured"
		}
		fmt.Fprintf(w, "%s\t%.4g %s\t%.4g %s\t%s\t%s\t%s\t\n", f.Name, f.Floor, f.Unit, f.Value, f.Unit, ratio(f), bound(f),
			verdict)
	}

	return over, unmeasured, w.Flush()
}

// bounded reports whether the figure has a bound. A ratio without a number has none.
func bounded(f Figure) bool { return !f.Free && (!f.Ratio || f.Most > 0) }

func ratio(f Figure) string {
	if f.Floor == 0 {
		return "-"
	}

	return fmt.Sprintf("%.2f", f.Value/f.Floor)
}

func bound(f Figure) string {
	switch {
	case !bounded(f):
		return "-"
	case f.Ratio:
		return fmt.Sprintf("%.4gx floor", f.Most)
	default:
		return fmt.Sprintf("%.4g", f.Most)
	}
}

//go:build !race

// As with alert_test.go: the engine is much to compile, and nothing here runs concurrently.

package scaffold_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A panel is one of the dashboard.
type panel struct {
	Title   string
	Targets []target
}

// A target is what a panel asks for. Interval is what Grafana calls its Min step.
type target struct{ Expr, LegendFormat, Interval string }

// panels returns those of a new project.
func panels(t *testing.T) []panel {
	t.Helper()

	var board struct{ Panels []panel }
	if err := json.Unmarshal(made(t, "deploy/grafana/dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}

	return board.Panels
}

// Grafana asks for a point in each so many seconds, see its sources, where a panel is half
// of a screen wide: in the six hours that the dashboard begins with, and in a week.
const (
	sixHours = 20 * time.Second
	aWeek    = 10 * time.Minute
)

// asked returns what Grafana asks for, and in which steps: not smaller ones than the
// target wants, and windows that hold four scrapes, and all that was scraped since the
// last point. How often is scraped is what the target wants, too, or 15 seconds.
func (q target) asked(t *testing.T, interval time.Duration) (expr string, step time.Duration) {
	t.Helper()

	scraped := 15 * time.Second

	if q.Interval != "" {
		var err error
		if scraped, err = time.ParseDuration(q.Interval); err != nil {
			t.Fatal(err)
		}
	}

	step = max(interval, scraped)
	window := max(step+scraped, 4*scraped)
	expr = strings.ReplaceAll(q.Expr, "$__rate_interval", fmt.Sprintf("%ds", int(window.Seconds())))

	if strings.Contains(expr, "$") {
		t.Fatalf("what would Grafana put in here? %s", expr)
	}

	return expr, step
}

// A line is one of a panel, by what the legend calls it.
type line struct {
	step   time.Duration
	points []promql.FPoint
}

// lines returns what a panel shows of the whole story.
func (d *data) lines(t *testing.T, p panel, interval time.Duration) map[string]line {
	t.Helper()

	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: wait.Patience()})
	out := map[string]line{}

	for _, q := range p.Targets {
		expr, step := q.asked(t, interval)

		query, err := engine.NewRangeQuery(t.Context(), d, nil, expr, at(0), at(180), step)
		if err != nil {
			t.Fatalf("%s: %v", p.Title, err)
		}

		matrix, err := query.Exec(t.Context()).Matrix()
		if err != nil {
			t.Fatalf("%s: %v", p.Title, err)
		}

		for _, s := range matrix {
			legend := regexp.MustCompile(`{{(\w+)}}`).ReplaceAllStringFunc(q.LegendFormat, func(name string) string {
				return s.Metric.Get(strings.Trim(name, "{}"))
			})
			if _, taken := out[legend]; taken {
				t.Errorf("%s: two lines are called %s", p.Title, legend)
			}

			out[legend] = line{step, s.Floats}
		}
	}

	return out
}

// shows returns the value that a line has after so many minutes: that of its last point.
// What is not shown is zero: a percentile of nothing is no number.
func (l line) shows(minute int) float64 {
	for _, p := range slices.Backward(l.points) {
		if age := at(minute).UnixMilli() - p.T; age >= 0 && age < l.step.Milliseconds() && !math.IsNaN(p.F) {
			return p.F
		}
	}

	return 0
}

// area returns what is below a line: how often something happened, if it says how often
// that is in a second.
func (l line) area() float64 {
	sum := 0.0
	for _, p := range l.points {
		sum += p.F * l.step.Seconds()
	}

	return sum
}

// highest returns the highest value that is shown.
func (l line) highest() float64 {
	high := 0.0
	for _, p := range l.points {
		if p.F > high { // and a number
			high = p.F
		}
	}

	return high
}

// storySeries returns the series of the story of testdata/story_test.go. TestProjectWithProviderConfig checks that a
// provider exposes them.
func storySeries(t *testing.T) map[string]string {
	t.Helper()

	return series(t, "story.txt")
}

// scraped are the series of the story, of a replica that waits for its turn, and of other
// providers in the same Prometheus, to which the same happens.
func scraped(t *testing.T) *data {
	t.Helper()

	d := &data{}
	d.play(t, "cloud", storySeries(t))
	d.play(t, "waiting", silent(t))

	for _, group := range otherGroups {
		others := map[string]string{}
		for series, values := range storySeries(t) {
			others[strings.ReplaceAll(series, "cloud.example.org", group)] = values
		}

		d.play(t, group, others)
	}

	return d
}

// TestDashboard lets Prometheus evaluate the panels over a story, as Grafana asks it to.
func TestDashboard(t *testing.T) {
	d, shown, ever := scraped(t), map[string]map[string]line{}, map[string]bool{}
	for _, p := range panels(t) {
		shown[p.Title] = d.lines(t, p, sixHours)
	}

	for _, tc := range scenes {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder

			got.WriteString("\n")

			for _, p := range panels(t) {
				if values := seen(shown[p.Title], tc.minute); len(values) > 0 {
					ever[p.Title] = true
					fmt.Fprintf(&got, "%s: %s\n", p.Title, strings.Join(values, ", "))
				}
			}

			if diff := cmp.Diff(strings.Split(tc.want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	for _, p := range panels(t) {
		if !ever[p.Title] {
			t.Errorf("nobody has shown that there is ever something in the panel %q", p.Title)
		}
	}
}

// seen returns what the lines of a panel show after so many minutes, but for zeros. What
// is of buckets is called by the rest of its name alone.
func seen(lines map[string]line, minute int) []string {
	var out []string

	for _, legend := range slices.Sorted(maps.Keys(lines)) {
		if v := lines[legend].shows(minute); v != 0 {
			out = append(out, fmt.Sprintf("%s %.3g", buckets.ReplaceAllString(legend, ""), v))
		}
	}

	return out
}

// buckets are kinds as legends begin with them.
var buckets = regexp.MustCompile(`^(Bucket\.cloud\.example\.org|cloud\.example\.org/v1alpha1, Kind=Bucket) `)

// scenes are moments of the story, and what the dashboard has to show at each. Rates are
// per second over the four minutes before, in which there are four scrapes: what happened
// in the three minutes between them is divided by 180, or, if there was nothing before, by
// 240. A percentile is where a line through its bucket is: 95 of 100 calls of 80 ms, in the
// bucket from 0.05 to 0.1 seconds, took up to 0.0975.
var scenes = []struct {
	name   string
	minute int
	reason string
	want   string
}{
	{"Before", 15, "The provider runs, and has nothing to do.", `
`},
	{"Creating", 21, "Half a minute ago four buckets were made, and each is being created.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 4
Calls to the external system: connect 0.0167, observe 0.0167
Time of a call, 95th percentile: connect 0.00095, observe 0.0975
Writes to the API server: intent, changed true 0.0167
Passes in progress: Bucket.cloud.example.org 4
`},
	{"Created", 24, "They were ready forty seconds after they were made.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 4, ready 4, synced 4
Time from creation to Ready, 95th percentile: cloud.example.org/v1alpha1, Kind=Bucket 58.5
Passes by outcome: kept 0.05
Time of a pass, 95th percentile: Bucket.cloud.example.org 55.5
Calls to the external system: connect 0.0444, create 0.0167, disconnect 0.05, observe 0.0667
Time of a call, 95th percentile: connect 0.00095, create 58.5, disconnect 0.00095, observe 0.0975
Writes to the API server: status, changed true 0.0167
`},
	{"Changed", 43, "Somebody else has changed one, which was found and corrected within two seconds.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 4, ready 4, synced 4
Passes by outcome: kept 0.0667
Time of a pass, 95th percentile: Bucket.cloud.example.org 1.6
Calls to the external system: connect 0.0667, disconnect 0.0667, observe 0.0722, update 0.00417
Time of a call, 95th percentile: connect 0.00095, disconnect 0.00095, observe 0.0975, update 2.42
Drift per hour: changed 1
`},
	{"Down", 62, "The API has failed for a minute and a half. Each object was tried again six times.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 4, ready 4
Passes by outcome: kept 0.0444, observe-failed 0.1
Time of a pass, 95th percentile: Bucket.cloud.example.org 0.0975
Calls to the external system: connect 0.178, disconnect 0.178, observe 0.178
Time of a call, 95th percentile: connect 0.00095, disconnect 0.00095, observe 0.0975
Calls that failed: observe 0.1
Failures by class: unavailable 0.1
Writes to the API server: status, changed true 0.0222
Drift per hour: changed 1
`},
	{"StillDown", 68, "Each is tried once a minute.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 4, ready 4
Passes by outcome: observe-failed 0.0667
Time of a pass, 95th percentile: Bucket.cloud.example.org 0.0975
Calls to the external system: connect 0.0667, disconnect 0.0667, observe 0.0667
Time of a call, 95th percentile: connect 0.00095, disconnect 0.00095, observe 0.0975
Calls that failed: observe 0.0667
Failures by class: unavailable 0.0667
Drift per hour: changed 1
`},
	{"Deleted", 93, "One was deleted, which took the API twenty seconds.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 3, ready 3, synced 3
Passes by outcome: finalized 0.00417, kept 0.0556
Time of a pass, 95th percentile: Bucket.cloud.example.org 19
Calls to the external system: connect 0.0611, delete 0.00417, disconnect 0.0611, observe 0.0667
Time of a call, 95th percentile: connect 0.00095, delete 29, disconnect 0.00095, observe 0.0975
Writes to the API server: finalizer, changed true 0.00417
Drift per hour: changed 1
Time of a deletion, 95th percentile: cloud.example.org/v1alpha1, Kind=Bucket 29.2
`},
	{"Restarted", 132,
		"After a restart the provider observes the objects one after the other. All counters were zero for a moment.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 3, ready 3, synced 3
Passes by outcome: kept 0.0333, postponed 0.0125
Time of a pass, 95th percentile: Bucket.cloud.example.org 0.0967
Calls to the external system: connect 0.0333, disconnect 0.0333, observe 0.0333
Time of a call, 95th percentile: connect 0.00095, disconnect 0.00095, observe 0.0975
`},
	{"After", 175, "Three objects are looked at once a minute.", `
Objects: cloud.example.org/v1alpha1, Kind=Bucket 3, ready 3, synced 3
Passes by outcome: kept 0.05
Time of a pass, 95th percentile: Bucket.cloud.example.org 0.0975
Calls to the external system: connect 0.05, disconnect 0.05, observe 0.05
Time of a call, 95th percentile: connect 0.00095, disconnect 0.00095, observe 0.0975
`},
}

// TestDashboardOfAWeek looks at what happened in a moment from further and further away:
// it may neither get lost between two points nor be there twice.
func TestDashboardOfAWeek(t *testing.T) {
	happened := map[string]map[string]float64{
		"Passes by outcome":            {"finalized": 1, "postponed": 3, "observe-failed": 60},
		"Calls to the external system": {"create": 4, "update": 1, "delete": 1},
		"Calls that failed":            {"observe": 60},
		"Failures by class":            {"unavailable": 60},
		"Writes to the API server":     {"intent, changed true": 4, "status, changed true": 12, "finalizer, changed true": 1},
	}
	took := map[string]float64{"Time from creation to Ready, 95th percentile": 58.5,
		"Time of a deletion, 95th percentile": 29.25}

	d := scraped(t)

	for name, interval := range map[string]time.Duration{"Hour": 5 * time.Second, "SixHours": sixHours,
		"Day": 2 * time.Minute, "Week": aWeek} {
		t.Run(name, func(t *testing.T) {
			for _, p := range panels(t) {
				for legend, l := range d.lines(t, p, interval) {
					legend = buckets.ReplaceAllString(legend, "")

					// What is between the last scrape before a window and the first in it is not seen:
					// of two windows of which each is to show half, one may not.
					if want, got := happened[p.Title][legend], l.area(); want > 0 && math.Abs(got-want) > want/2 {
						t.Errorf("%s: %s happened %g times, and is shown as if it were %.3g", p.Title, legend, want, got)
					}

					if want, got := took[p.Title], l.highest(); want > 0 && math.Abs(got-want) > 0.1 {
						t.Errorf("%s: %g, and never more than %g is shown", p.Title, want, got)
					}
				}
			}
		})
	}
}

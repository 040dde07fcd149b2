//go:build !race

// The engine of Prometheus is much to compile, and nothing here runs concurrently.

package scaffold_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A rule is one that is shipped.
type rule struct{ Alert, Expr, For string }

// rules returns those of a new project.
func rules(t *testing.T) []rule {
	t.Helper()

	var file struct {
		Spec struct{ Groups []struct{ Rules []rule } }
	}
	if err := yaml.Unmarshal(made(t, "deploy/prometheus/rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}

	var out []rule
	for _, group := range file.Spec.Groups {
		out = append(out, group.Rules...)
	}

	return out
}

// silent returns the series of a provider that has begun and has no objects. What
// testdata/metrics.txt says is held to a provider, see TestProjectWithProviderConfig.
func silent(t *testing.T) map[string]string {
	t.Helper()

	out := series(t, "metrics.txt")
	for name, value := range out {
		out[name] = value + "x180"
	}

	return out
}

// series returns what a file of testdata says of each: a line is its name with its labels, and
// its value or values.
func series(t *testing.T, file string) map[string]string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(strings.TrimSpace(line), "} ")
		out[name+"}"] = values
	}

	return out
}

// Objects of a kind, and what counts what happens to them.
const (
	exists = `moorage_managed_resource_exists{gvk="cloud.example.org/v1alpha1, Kind=Bucket"}`
	ready  = `moorage_managed_resource_ready{gvk="cloud.example.org/v1alpha1, Kind=Bucket"}`
	synced = `moorage_managed_resource_synced{gvk="cloud.example.org/v1alpha1, Kind=Bucket"}`

	down       = `moorage_managed_failures_total{class="unavailable",kind="Bucket.cloud.example.org"}`
	refused    = `moorage_managed_failures_total{class="unauthorized",kind="Bucket.cloud.example.org"}`
	other      = `moorage_managed_failures_total{class="other",kind="Bucket.cloud.example.org"}`
	terminal   = `moorage_managed_terminal_errors_total{kind="Bucket.cloud.example.org",reason="Refused"}`
	abandoned  = `moorage_managed_abandoned_attempts_total{kind="Bucket.cloud.example.org"}`
	drifts     = `moorage_managed_drifts_total{kind="Bucket.cloud.example.org",what="changed"}`
	forNothing = `moorage_managed_writes_total{changed="false",kind="Bucket.cloud.example.org",what="status"}`
)

// otherGroups are API groups of other providers in the same Prometheus, with names as similar as possible.
var otherGroups = []string{"other.example.org", "sub.cloud.example.org", "mycloud.example.org", "cloud.example.org.uk",
	"cloud-example.org"}

// troubled are the series of another provider, whose every alert fires.
func troubled(group string) map[string]string {
	out := map[string]string{}

	for series, values := range map[string]string{
		exists: "5x180", ready: "0x180", synced: "0x180", down: "0+1x180", refused: "0+1x180",
		drifts: "0+1x180", terminal: "0+1x180", abandoned: "0+1x180", forNothing: "0+60x180",
	} {
		out[strings.ReplaceAll(series, "cloud.example.org", group)] = values
	}

	return out
}

// allWell are the series of so many objects, as long as they are scraped.
func allWell(values string) map[string]string {
	return map[string]string{exists: values, ready: values, synced: values}
}

// every returns the values of a counter that begins after an hour and then counts once in so
// many minutes.
func every(minutes int) string {
	values := "_x60"
	for n := 1; n*minutes <= 120; n++ {
		values += fmt.Sprintf(" %dx%d", n, minutes-1)
	}

	return values
}

// TestAlerts lets Prometheus evaluate the rules over three hours of several providers, a
// value for each minute, as promtool writes them: 0x60 1+2x9 is 0 sixty-one times, then 1,
// 3, 5 and so on, ten times; _ is no value.
func TestAlerts(t *testing.T) {
	cases := map[string]struct {
		reason string
		shown  map[string]string
		want   []string
	}{
		"Empty": {"There are no objects, and nothing is wrong.", nil, nil},
		"Well":  {"There are objects, and nothing is wrong.", allWell("5x180"), nil},
		"Busy": {"What happens now and then is no reason to look.", map[string]string{
			exists: "5x59 6x120", ready: "5x69 6x110", synced: "5x69 6x110", // ten minutes for a new one
			down: "_x60 1+1x2 3x117", other: "0+1x180", terminal: "_x60 1x119", drifts: "0x9 1x9 2x9 3x9 4x9 5x130",
			forNothing: "0+2x180",
		}, nil},

		"Gone":      {"Nobody is scraped any more.", allWell("5x60 _x119"), []string{"ProviderGone"}},
		"Restarted": {"Somebody is again, after some minutes.", allWell("5x60 _x8 5x110"), nil},

		"NotReady": {"One object is not, for good.",
			map[string]string{exists: "5x180", ready: "5x60 4x119", synced: "5x180"}, []string{"ProviderObjectsNotReady"}},
		"NotReadyYet": {"One object is not for twenty minutes.",
			map[string]string{exists: "5x180", ready: "5x60 4x19 5x99", synced: "5x180"}, nil},
		"NotSynced": {"One object is not, for good.",
			map[string]string{exists: "5x180", ready: "5x180", synced: "5x60 4x119"}, []string{"ProviderObjectsNotSynced"}},
		"NotSyncedYet": {"One object is not for twenty minutes.",
			map[string]string{exists: "5x180", ready: "5x180", synced: "5x60 4x19 5x99"}, nil},
		"Down": {"Passes fail, once a minute.", map[string]string{down: "_x60 1+1x119"},
			[]string{"ProviderExternalSystemDown"}},
		"Probed": {"A breaker lets one call through in five minutes.", map[string]string{down: every(5)},
			[]string{"ProviderExternalSystemDown"}},
		"Unauthorized": {"Passes fail, once a minute.", map[string]string{refused: "_x60 1+1x119"},
			[]string{"ProviderExternalSystemDown"}},
		"OtherFailures": {"What an object alone fails for is told by its own condition.",
			map[string]string{other: "_x60 1+1x119"}, nil},
		"Drift": {"Somebody changes it back every two minutes.", map[string]string{drifts: "0+0.5x180"},
			[]string{"ProviderDriftLoop"}},
		"Terminal": {"It is tried again every ten minutes, in vain.", map[string]string{terminal: every(10)},
			[]string{"ProviderTerminalErrors"}},
		"Abandoned": {"That happened once, and is told.", map[string]string{abandoned: "0x60 1x119"},
			[]string{"ProviderCreationsAbandoned"}},
		"ForNothing": {"Every second pass writes, for nothing.", map[string]string{forNothing: "0+30x180"},
			[]string{"ProviderWritesForNothing"}},
	}

	fired := map[string]bool{}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			shown := silent(t)
			maps.Copy(shown, tc.shown)

			d := data{}
			d.play(t, "cloud", shown)

			for _, group := range otherGroups {
				d.play(t, group, troubled(group))
			}

			got := d.alerts(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			for _, alert := range got {
				fired[alert] = true
			}
		})
	}

	for _, r := range rules(t) {
		if !fired[r.Alert] {
			t.Errorf("nobody has shown that %s fires", r.Alert)
		}
	}
}

// data are the series that Prometheus has scraped. They are a storage that its engine
// asks.
type data struct{ series []storage.Series }

// play adds what was scraped of a provider.
func (d *data) play(t *testing.T, instance string, shown map[string]string) {
	t.Helper()

	known := metrics(t)

	for series, values := range shown {
		set, sequence, err := parser.ParseSeriesDesc(series + " " + values)
		if err != nil {
			t.Fatalf("%s %s: %v", series, values, err)
		}

		name, has := set.Get(nameLabel), []string{}
		base := regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, "")

		set.Range(func(l labels.Label) {
			if l.Name != nameLabel && (l.Name != "le" || base == name) {
				has = append(has, l.Name)
			}
		})

		if want := slices.Sorted(slices.Values(known[base].labels)); !slices.Equal(want, has) {
			t.Fatalf("%s has the labels %q, and not %q", name, want, has)
		}

		var samples []chunks.Sample

		for i, v := range sequence {
			if !v.Omitted {
				samples = append(samples, sample{at: at(i).UnixMilli(), value: v.Value})
			}
		}

		b := labels.NewBuilder(set)
		b.Set("instance", instance)
		d.series = append(d.series, storage.NewListSeries(b.Labels(), samples))
	}
}

// nameLabel is the label in which the name of a metric is.
const nameLabel = "__name__"

// at returns the time of a scrape.
func at(n int) time.Time { return time.Unix(0, 0).Add(time.Duration(n) * time.Minute) }

// alerts returns which rules fire at any time: those whose expression holds for as long
// as they say, at every minute, for the same labels.
func (d *data) alerts(t *testing.T) []string {
	t.Helper()

	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: wait.Patience()})

	var out []string

	for _, r := range rules(t) {
		query, err := engine.NewRangeQuery(t.Context(), d, nil, r.Expr, at(0), at(180), time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}

		matrix, err := query.Exec(t.Context()).Matrix()
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}

		if slices.ContainsFunc(matrix, func(s promql.Series) bool { return r.fires(t, s.Floats) }) {
			out = append(out, r.Alert)
		}
	}

	slices.Sort(out)

	return out
}

// fires reports whether there are points for as long as the rule requires, without a gap.
func (r rule) fires(t *testing.T, points []promql.FPoint) bool {
	t.Helper()

	hold := time.Duration(0)

	if r.For != "" {
		var err error
		if hold, err = time.ParseDuration(r.For); err != nil {
			t.Fatal(err)
		}
	}

	for i, since := 0, 0; i < len(points); i++ {
		if i > 0 && points[i].T-points[i-1].T > time.Minute.Milliseconds() {
			since = i
		}

		if points[i].T-points[since].T >= hold.Milliseconds() {
			return true
		}
	}

	return false
}

// A sample is a value that was scraped.
type sample struct {
	at    int64
	value float64
}

// T, F, H, Type and the others are what an engine asks of a sample: it is a number, and no histogram.
func (s sample) T() int64                      { return s.at }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// Querier returns all there is: the engine looks for the time itself.
func (d *data) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: d.find}, nil
}

// find returns the series that match.
func (d *data) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &found{next: -1}

	for _, s := range d.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			found.series = append(found.series, s)
		}
	}

	return found
}

// found are the series that an engine goes through.
type found struct {
	series []storage.Series
	next   int
}

func (f *found) Next() bool                        { f.next++; return f.next < len(f.series) }
func (f *found) At() storage.Series                { return f.series[f.next] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

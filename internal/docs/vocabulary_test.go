package docs

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// column returns, for each row below a heading, the first text in backquotes and the cell of the named column.
func column(t *testing.T, page, heading, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range rows(page) {
		words := spans(r.cells[0])
		value, ok := r.cell(name)
		if !r.under(heading) || len(words) == 0 || !ok {
			continue
		}
		if _, twice := out[words[0]]; twice {
			t.Errorf("line %d: %s stands below %q twice", r.line, words[0], heading)
		}
		out[words[0]] = value
	}
	return out
}

func packages(t *testing.T, dirs ...string) []source {
	t.Helper()
	all, err := readSources(root, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var ofType = regexp.MustCompile(`(?:Reasons of|reason of) (Type\w+)`)

// TestConditions compares the sections about conditions with the constants: each type has a section, which has each
// reason that belongs to the type according to the code.
func TestConditions(t *testing.T) {
	page := read(t, conditionsPage)
	values, want := map[string]string{}, map[string]map[string]bool{}
	var reasons []constant
	for _, p := range packages(t, "apis/common/v1") {
		for _, c := range p.constants("ConditionType") {
			values[c.name], want[c.value] = c.value, map[string]bool{}
		}
		reasons = append(reasons, p.constants("ConditionReason")...)
	}
	for _, c := range reasons {
		m := ofType.FindStringSubmatch(c.about)
		if m == nil || values[m[1]] == "" {
			t.Fatalf("the comment of %s does not say of which type it is the reason", c.name)
		}
		want[values[m[1]]][c.value] = true
	}
	want["Synced"]["TerminalError"] = true // that of errors of package external which have none
	got := map[string]map[string]bool{}
	for _, heading := range regexp.MustCompile("(?m)^### `(\\w+)`$").FindAllStringSubmatch(page, -1) {
		got[heading[1]] = map[string]bool{}
		for reason, status := range column(t, page, "`"+heading[1]+"`", "Status") {
			got[heading[1]][reason] = true
			if !slices.Contains([]string{"True", "False", "Unknown"}, status) {
				t.Errorf("%s of %s has the status %q", reason, heading[1], status)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -code, +page:\n%s", conditionsPage, diff)
	}
}

// TestEvents compares the table of events with the constants of all packages, and with the type with which the code
// emits each event, if the code shows it.
func TestEvents(t *testing.T) {
	listed := column(t, read(t, conditionsPage), "Events", "Type")
	want := map[string]string{}
	for _, p := range packages(t, "pkg") {
		reasons := p.constants("event.Reason")
		types := map[string][]string{}
		p.calls(func(name string, args []ast.Expr) {
			if (name == "Normal" || name == "Warning") && len(args) > 0 {
				reason := typeName(args[0])
				types[reason] = append(types[reason], name)
			}
		})
		for _, c := range reasons {
			seen := slices.Compact(slices.Sorted(slices.Values(types[c.name])))
			if len(seen) == 0 {
				seen = []string{listed[c.value]}
			}
			want[c.value] = strings.Join(seen, ", ")
		}
	}
	if len(want) == 0 {
		t.Fatal("no reason of an event was found: nothing was checked")
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("%s: -code, +page:\n%s", conditionsPage, diff)
	}
}

// A metric has the cells of the row of a metric.
type metric struct{ Type, Labels string }

// TestMetrics compares the table of metrics with the code that makes them.
func TestMetrics(t *testing.T) {
	want := map[string]metric{}
	first := map[string]int{"counter": 2, "gauge": 2, "histogram": 3} // where the labels begin
	for _, p := range packages(t, "pkg/reconciler/managed/internal/telemetry") {
		p.calls(func(kind string, args []ast.Expr) {
			if first[kind] == 0 || len(args) < first[kind] {
				return
			}
			if name, ok := text(args[0]); ok {
				want["moorage_managed_"+name] = metric{kind, labels(args[first[kind]:])}
			}
		})
	}
	maps.Copy(want, writtenOut(t))
	maps.Copy(want, connectionMetrics(t))
	page, got := read(t, conditionsPage), map[string]metric{}
	types, labelled := column(t, page, "Metrics", "Type"), column(t, page, "Metrics", "Labels")
	for name, typ := range types {
		got[name] = metric{typ, labelled[name]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -code, +page:\n%s", conditionsPage, diff)
	}
}

// connectionMetrics returns the metrics of limits for each connection.
func connectionMetrics(t *testing.T) map[string]metric {
	t.Helper()
	limits, registry := limit.NewSet(), prometheus.NewRegistry()
	registry.MustRegister(limits)
	limits.Gate("ProviderConfig/default/prod")
	families, err := registry.Gather()
	if err != nil || len(families) == 0 {
		t.Fatalf("%d metrics of a connection: %v", len(families), err)
	}
	out := map[string]metric{}
	for _, f := range families {
		var names []string
		for _, label := range f.GetMetric()[0].GetLabel() {
			names = append(names, "`"+label.GetName()+"`")
		}
		out[f.GetName()] = metric{strings.ToLower(f.GetType().String()), strings.Join(names, ", ")}
	}

	return out
}

// writtenOut returns the metrics whose names are in the code with their prefix. A metric whose constructor is not
// found has no type, and so matches no row of the page.
func writtenOut(t *testing.T) map[string]metric {
	t.Helper()
	named, out := regexp.MustCompile(`^moorage_\w*[a-z]$`), map[string]metric{}
	for _, p := range packages(t, "pkg", "internal/restores") {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				if name, ok := text(e); ok && named.MatchString(name) && out[name].Type == "" {
					out[name] = metric{}
				}
				return true
			})
		}
		p.calls(func(maker string, args []ast.Expr) {
			if name := optionsName(args); named.MatchString(name) {
				m := metric{Type: strings.ToLower(regexp.MustCompile(`Counter|Gauge|Histogram`).FindString(maker))}
				if list, ok := args[len(args)-1].(*ast.CompositeLit); ok && len(args) > 1 {
					m.Labels = labels(list.Elts)
				}
				out[name] = m
			}
		})
	}
	return out
}

// optionsName returns the name in the options of a metric.
func optionsName(args []ast.Expr) string {
	if len(args) == 0 {
		return ""
	}
	options, ok := args[0].(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, e := range options.Elts {
		if field, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Name" {
				name, _ := text(field.Value)
				return name
			}
		}
	}
	return ""
}

func labels(args []ast.Expr) string {
	var out []string
	for _, a := range args {
		if label, ok := text(a); ok {
			out = append(out, "`"+label+"`")
		}
	}
	return strings.Join(out, ", ")
}

// TestLabelValues checks that the row of a metric has the values of its labels.
func TestLabelValues(t *testing.T) {
	counts := column(t, read(t, conditionsPage), "Metrics", "What it counts")
	values := map[string]string{"stepNames": "moorage_managed_external_step_seconds",
		"writeNames": "moorage_managed_writes_total", "driftNames": "moorage_managed_drifts_total",
		"listingNames":      "moorage_managed_listed_total",
		"notificationNames": "moorage_managed_external_notifications_total",
		"failureClasses":    "moorage_managed_failures_total"}
	for _, p := range packages(t, "pkg/reconciler/managed") {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				v, ok := n.(*ast.ValueSpec)
				if !ok || values[v.Names[0].Name] == "" {
					return true
				}
				name := values[v.Names[0].Name]
				delete(values, v.Names[0].Name)
				ast.Inspect(v.Values[0], func(n ast.Node) bool {
					if lit, ok := n.(ast.Expr); ok {
						if value, ok := text(lit); ok && value != "" && !slices.Contains(spans(counts[name]), value) {
							t.Errorf("%s: the row of %s does not tell of %q", conditionsPage, name, value)
						}
					}
					return true
				})
				return false
			})
		}
	}
	if len(values) > 0 {
		t.Errorf("not found in the code: %v", values)
	}
}

// TestOutcomes compares the table of outcomes on the page with the names in the table outcomes of the reconciler.
func TestOutcomes(t *testing.T) {
	want := map[string]bool{}
	for _, p := range packages(t, "pkg/reconciler/managed") {
		if p.dir != "pkg/reconciler/managed" {
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "outcomes" {
					ast.Inspect(v, func(n ast.Node) bool {
						if name, ok := outcomeName(n); ok {
							want[name] = true
						}
						return true
					})
				}
				return true
			})
		}
	}
	if len(want) == 0 {
		t.Fatal("found no names in outcomes of pkg/reconciler/managed")
	}
	got := map[string]bool{}
	for name := range column(t, read(t, conditionsPage), "Outcomes", "How the pass ended") {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -code, +page:\n%s", conditionsPage, diff)
	}
}

// outcomeName returns the name in a row of outcomes. The row is a literal, or a call of failing with the name first.
func outcomeName(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
			return text(n.Value)
		}
	case *ast.CallExpr:
		if typeName(n.Fun) == "failing" {
			return text(n.Args[0])
		}
	}
	return "", false
}

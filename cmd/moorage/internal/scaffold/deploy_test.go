package scaffold_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// A metric is one that Moorage has, with its labels.
type metric struct {
	histogram bool
	labels    []string
}

// metrics returns those of the page that a test holds to the code.
func metrics(t *testing.T) map[string]metric {
	t.Helper()

	page, err := os.ReadFile(filepath.Join(repository, "docs", "conditions-and-events.md"))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]metric{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(moorage_\\w+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(
		string(page), -1) {
		out[row[1]] = metric{row[2] == "histogram", regexp.MustCompile(`\w+`).FindAllString(row[3], -1)}
	}

	if len(out) < 20 {
		t.Fatalf("the page lists only %d metrics: nothing was checked", len(out))
	}

	return out
}

// expressions returns the queries of the dashboard and of the rules.
func expressions(t *testing.T) []string {
	t.Helper()

	var board struct {
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(made(t, "deploy/grafana/dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}

	if len(board.Templating.List) != 1 || board.Templating.List[0].Name != "datasource" {
		t.Error("the dashboard does not ask for the data source")
	}

	var out []string

	for _, p := range board.Panels {
		for _, target := range p.Targets {
			out = append(out, target.Expr)

			for _, name := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !strings.Contains(target.Expr, name[1]) {
					t.Errorf("the legend %q names a label that is not in %s", target.LegendFormat, target.Expr)
				}
			}
		}
	}

	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal(made(t, "deploy/prometheus/rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}

	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			out = append(out, rule.Expr)
		}
	}

	if len(out) < 20 {
		t.Fatalf("only %d queries were found", len(out))
	}

	return out
}

// TestQueries looks for every metric, and every label, that the dashboard and the rules of
// a new project ask for.
func TestQueries(t *testing.T) {
	known := metrics(t)

	for _, expr := range expressions(t) {
		var labels []string

		for _, name := range regexp.MustCompile(`moorage_\w+`).FindAllString(expr, -1) {
			m, ok := known[name]
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if base, cut := strings.CutSuffix(name, suffix); cut && known[base].histogram {
					m, ok = known[base], true
				}
			}

			if !ok || m.histogram && known[name].histogram {
				t.Errorf("there is no series %s: %s", name, expr)
			}

			labels = append(labels, m.labels...)
		}

		if labels == nil {
			t.Errorf("no metric of Moorage is asked for: %s", expr)
		}

		for _, m := range regexp.MustCompile(`by \(([^)]*)\)|{(\w+)=`).FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.FieldsFunc(m[1]+","+m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
				if label != "le" && !slices.Contains(labels, label) {
					t.Errorf("no metric has the label %s: %s", label, expr)
				}
			}
		}
	}
}

// TestHealth asks the script for Argo CD, with no more of Lua than Argo CD gives it.
func TestHealth(t *testing.T) {
	p, err := with(t, cloud(), bucket()).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal(content(t, p, "deploy/argocd/argocd-cm.yaml"), &config); err != nil {
		t.Fatal(err)
	}

	condition := func(kind, status, reason string) string {
		return fmt.Sprintf(`{type = %q, status = %q, reason = %q, message = "so", observedGeneration = 2}`, kind, status,
			reason)
	}
	object := func(kind, meta string, conditions ...string) string {
		return fmt.Sprintf(`{kind = %q, metadata = {generation = 2%s}, status = {conditions = {%s}}}`, kind, meta,
			strings.Join(conditions, ", "))
	}
	ready, synced := condition("Ready", "True", "Available"), condition("Synced", "True", "ReconcileSuccess")

	cases := map[string]struct{ reason, object, want string }{
		"New": {"Nobody has looked yet.", `{kind = "Bucket", metadata = {generation = 1}}`, "Progressing"},
		"Creating": {"It is being made.", object("Bucket", "", synced, condition("Ready", "False", "Creating")),
			"Progressing"},
		"Ready": {"All is well.", object("Bucket", "", synced, ready), "Healthy"},
		"Outdated": {"It was ready for another spec.",
			strings.Replace(object("Bucket", "", synced, ready), "generation = 2", "generation = 3", 1), "Progressing"},
		"Failed": {"Trying again may help.", object("Bucket", "", condition("Synced", "False", "ReconcileError"), ready),
			"Degraded"},
		"Stalled": {"A human is needed.", object("Bucket", "", condition("Stalled", "True", "Refused"), synced, ready),
			"Degraded"},
		"NotStalled": {"None is needed.", object("Bucket", "", condition("Stalled", "False", "Fine"), synced, ready),
			"Healthy"},
		"Paused": {"Somebody wants it so.", object("Bucket", "", condition("Synced", "False", "ReconcilePaused"), ready),
			"Suspended"},
		"Deleting": {"It is on its way out.",
			object("Bucket", `, deletionTimestamp = "now"`, condition("Synced", "False", "ReconcileError")), "Progressing"},
		"Config": {"A configuration is not Ready by itself.", `{kind = "ProviderConfig", metadata = {generation = 1}}`,
			"Healthy"},
		"ConfigFails": {"It leads nowhere.",
			object("ClusterProviderConfig", "", condition("Connected", "False", "Unauthorized")), "Degraded"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lua.NewState(lua.Options{SkipOpenLibs: true})
			defer l.Close()

			for lib, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase,
				lua.TabLibName: lua.OpenTable} {
				if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(lib)); err != nil {
					t.Fatal(err)
				}
			}

			if err := l.DoString("obj = " + tc.object); err != nil {
				t.Fatal(err)
			}

			kind := l.GetGlobal("obj").(*lua.LTable).RawGetString("kind").String()
			if err := l.DoString(config.Data["resource.customizations.health.cloud.example.org_"+kind]); err != nil {
				t.Fatal(err)
			}

			answer, ok := l.Get(-1).(*lua.LTable)
			if !ok {
				t.Fatalf("the script returns %v", l.Get(-1))
			}

			if got := answer.RawGetString("status").String(); got != tc.want {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got)
			}

			if answer.RawGetString("message") == lua.LNil {
				t.Errorf("%s\nthere is no message", tc.reason)
			}
		})
	}
}

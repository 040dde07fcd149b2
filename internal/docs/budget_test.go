package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A budget is the limit of a path: requests, and events where they are counted.
type budget struct{ Requests, Events string }

// budgets returns the budgets of the tests on a real API server, and on stores, by the names of the paths.
func budgets(t *testing.T) map[string]budget {
	t.Helper()
	out := map[string]budget{}
	paths, err := filepath.Glob(filepath.Join(root, "internal/volume/stories/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		source{files: []*ast.File{file}}.calls(func(name string, args []ast.Expr) {
			if name != "budget" && name != "spend" && name != "spent" || len(args) < 3 {
				return
			}
			path, ok := text(args[0])
			requests, counted := args[1].(*ast.BasicLit)
			if !ok || !counted {
				return
			}
			b := budget{Requests: requests.Value}
			if events, ok := args[2].(*ast.BasicLit); ok && name != "spent" {
				b.Events = events.Value
			}
			out[path] = b
		})
	}
	return out
}

// TestCosts compares the costs of each path on the page with the budgets of the tests.
func TestCosts(t *testing.T) {
	const page = "docs/lifecycle.md"
	counted, checked := budgets(t), 0
	for _, r := range rows(read(t, page)) {
		as, ok := r.cell("Counted as")
		if !ok || len(spans(as)) == 0 {
			continue
		}
		checked++
		requests, _ := r.cell("Requests")
		events, _ := r.cell("Events")
		want, known := counted[spans(as)[0]]
		if !known {
			t.Errorf("%s:%d: nothing is counted as %s", page, r.line, as)
		}
		if diff := cmp.Diff(want, budget{requests, events}); diff != "" {
			t.Errorf("%s:%d: -test, +page:\n%s", page, r.line, diff)
		}
	}
	if checked < 8 {
		t.Errorf("%s: %d paths are counted: the table was not read", page, checked)
	}
}

package docs

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/difference"
)

const (
	differencesPage     = "docs/differences.md"
	differencesExamples = "pkg/difference/example_test.go"
	driftExamples       = "pkg/reconciler/managed/drift_example_test.go"
)

// TestDifferencesPage checks that the code of the page is code of the examples, and that its bounds are those of the
// package.
func TestDifferencesPage(t *testing.T) {
	page, examples, code := read(t, differencesPage), read(t, differencesExamples)+read(t, driftExamples), 0
	for _, b := range blocks(page) {
		if b.info != "go" {
			continue
		}
		code++
		if !strings.Contains(examples, b.text) {
			t.Errorf("%s:%d: neither %s nor %s has this code:\n%s", differencesPage, b.line, differencesExamples,
				driftExamples, b.text)
		}
	}
	if code < 4 {
		t.Errorf("%s has %d blocks of Go code", differencesPage, code)
	}
	for _, want := range []string{
		fmt.Sprintf("at most %d bytes", difference.MaxLength), fmt.Sprintf("at most %d of them", difference.MaxFields),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", differencesPage, want)
		}
	}
}

// TestDifferencesOptions checks that the table of options has each option, and that all functions for the option Equal
// are named.
func TestDifferencesOptions(t *testing.T) {
	page := read(t, differencesPage)
	got := slices.Sorted(maps.Keys(column(t, page, "What is equal?", "Effect")))
	var want []string
	for _, p := range packages(t, "pkg/difference") {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !fn.Name.IsExported() {
					continue
				}
				if returns(fn, "Option") {
					want = append(want, fn.Name.Name)
				}
				if strings.HasPrefix(fn.Name.Name, "Same") && !strings.Contains(page, "`"+fn.Name.Name+"`") {
					t.Errorf("%s does not name %s", differencesPage, fn.Name.Name)
				}
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the options of the package and of %s: -want, +got:\n%s", differencesPage, diff)
	}
}

// returns reports whether the only result of a function is of the named type.
func returns(fn *ast.FuncDecl, name string) bool {
	if fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
		return false
	}
	id, ok := fn.Type.Results.List[0].Type.(*ast.Ident)
	return ok && id.Name == name
}

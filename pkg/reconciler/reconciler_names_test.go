package reconciler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden lists the names of provider-runtime; internal/apisurface checks that each has the same signature here.
const golden = "../../internal/apisurface/testdata/managed.golden"

// TestNamesOfProviderRuntime: the package has exactly the names of provider-runtime. Additions are only in package
// managed.
func TestNamesOfProviderRuntime(t *testing.T) {
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\npackage pkg/reconciler\n")
	if !found {
		t.Fatalf("%s has no package pkg/reconciler", golden)
	}
	section, _, _ = strings.Cut(section, "\npackage ")
	var want []string
	for _, name := range regexp.MustCompile(`(?m)^(?:const|type|func) ([A-Z]\w*)`).FindAllStringSubmatch(section, -1) {
		want = append(want, name[1])
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, exported(t)); diff != "" {
		t.Errorf("names: -provider-runtime, +here:\n%s", diff)
	}
}

// exported returns the exported names of this package, in order.
func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			names = append(names, declared(declaration)...)
		}
	}
	slices.Sort(names)

	return names
}

// declared returns the exported names of a declaration.
func declared(declaration ast.Decl) []string {
	var names []string
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}

	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}

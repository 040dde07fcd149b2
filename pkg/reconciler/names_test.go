package reconciler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forThisModule are names that take a type of an internal package: nobody else can call them.
var forThisModule = []string{"func WithObjectStates"}

// TestEveryNameOfManagedIsHere: whoever adds a name to managed adds it here: a provider that
// imports this path must not find less. That the same name is the same thing is checked in
// internal/apisurface.
func TestEveryNameOfManagedIsHere(t *testing.T) {
	want, got := exported(t, "managed"), exported(t, ".")
	if len(want) == 0 {
		t.Fatal("managed exports nothing: nothing was checked")
	}
	for _, name := range want {
		if !slices.Contains(got, name) && !slices.Contains(forThisModule, name) {
			t.Errorf("%s is in managed and not here: a type needs an alias, a function a function that calls it", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is here and not in managed: this package has nothing of its own", name)
		}
	}
}

// exported returns the exported names of the package in a folder, each with the sort of thing that it is, in order.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			out = append(out, declared(d)...)
		}
	}
	slices.Sort(out)
	return out
}

// declared returns what a declaration exports.
func declared(decl ast.Decl) (out []string) {
	add := func(sort string, names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				out = append(out, sort+" "+n.Name)
			}
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add("func", d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add("type", s.Name)
			case *ast.ValueSpec:
				add(d.Tok.String(), s.Names...)
			}
		}
	}
	return out
}

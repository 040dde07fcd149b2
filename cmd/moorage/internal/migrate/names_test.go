package migrate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
)

// TestNames compares what the tool knows of this library with the library: every name that it
// takes for one of ours is, and so is every name that it writes.
func TestNames(t *testing.T) {
	now := map[string]bool{}
	for _, pkg := range migrate.Packages() {
		for _, name := range exportedBy(t, pkg) {
			now[pkg+" "+name] = true
		}
	}

	if *update {
		text := "\n" + strings.Join(slices.Sorted(maps.Keys(now)), "\n") + "\n"
		if err := os.WriteFile("names.txt", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile("names.txt")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(strings.TrimPrefix(string(text), "\n")) {
		if line = strings.TrimSuffix(line, "\n"); !now[line] {
			t.Errorf("%s does not exist any more: go test ./internal/migrate -update", line)
		}
	}

	for _, name := range migrate.Targets() {
		if !now[name] {
			t.Errorf("%s is written by a table, and does not exist", name)
		}
	}
}

// exportedBy returns the names that a package of the library exports.
func exportedBy(t *testing.T, pkg string) (out []string) {
	t.Helper()

	dir := filepath.Join(checkout, filepath.FromSlash(pkg))

	production := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), dir, production, 0) //nolint:staticcheck // ignores build tags
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range packages {
		for _, f := range p.Files {
			for _, decl := range f.Decls {
				out = append(out, declared(decl)...)
			}
		}
	}

	return slices.DeleteFunc(out, func(name string) bool { return !ast.IsExported(name) })
}

func declared(decl ast.Decl) (out []string) {
	if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
		return []string{fn.Name.Name}
	}

	gen, ok := decl.(*ast.GenDecl)
	if !ok {
		return nil
	}

	for _, spec := range gen.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			out = append(out, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				out = append(out, name.Name)
			}
		}
	}

	return out
}

package apisurface

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The numbers of names and of methods in each golden file: they make a lost line noticed.
var documents = map[string]struct{ names, methods int }{
	"managed": {names: 209, methods: 86},
}

// everything is a library of all packages that these tests import: the Go command lists their dependencies once.
var everything = sync.OnceValues(func() (library, error) {
	var paths []string
	for doc := range documents {
		s, err := parseGolden(doc)
		if err != nil {
			return library{}, err
		}
		paths = append(paths, s.paths()...)
	}
	for _, d := range generic {
		paths = append(paths, d.path)
	}
	for _, group := range alike {
		paths = append(paths, imported(group)...)
	}
	slices.Sort(paths)
	return load("../..", slices.Compact(paths)...)
})

func TestSurface(t *testing.T) {
	for doc := range documents {
		t.Run(doc, func(t *testing.T) {
			s := read(t, doc)
			lib, err := everything()
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, p := range s.packages {
				for _, twin := range twins(p.path) {
					lines, err := lib.compare(s, twin, p.entries)
					if err != nil {
						t.Fatal(err)
					}
					for _, line := range lines {
						got = append(got, p.path+" "+line)
					}
				}
			}
			listed := deviations(t, doc)
			for _, line := range got {
				if !slices.Contains(listed, line) {
					t.Errorf("differs from testdata/%[1]s.golden and is not in testdata/%[1]s.deviations:\n%[2]s",
						doc, line)
				}
			}
			for _, line := range listed {
				if !slices.Contains(got, line) {
					t.Errorf("is in testdata/%s.deviations and does not differ any more:\n%s", doc, line)
				}
			}
		})
	}
}

func TestGoldenFilesAreWhole(t *testing.T) {
	for doc, want := range documents {
		got := want
		got.names, got.methods = 0, 0
		for _, p := range read(t, doc).packages {
			for _, e := range p.entries {
				if e.kind == "method" {
					got.methods++
				} else {
					got.names++
				}
			}
		}
		if got != want {
			t.Errorf("%s.golden has %d names and %d methods, want %d and %d", doc, got.names, got.methods,
				want.names, want.methods)
		}
	}
}

// TestEveryNameIsUsed checks that the program that uses the names of a document leaves none out.
func TestEveryNameIsUsed(t *testing.T) {
	for doc := range documents {
		used := selectors(t, doc+"_use_test.go")
		for _, p := range read(t, doc).packages {
			for _, e := range p.entries {
				name := path.Join(p.path, e.name)
				if e.kind == "method" {
					name = path.Join(p.path, strings.TrimPrefix(e.recv, "*")) + "." + e.name
				}
				if !used[name] {
					t.Errorf("%s_use_test.go does not use %s", doc, name)
				}
			}
		}
	}
}

// selectors returns the names that a file uses of packages of the library, as path/Name, and of their types, as
// path/Name.Member.
func selectors(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{}
	for _, i := range parsed.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(imported)
		if i.Name != nil {
			name = i.Name.Name
		}
		paths[name] = strings.TrimPrefix(imported, module)
	}
	out := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			out[named(s, paths)] = true
		}
		return true
	})
	return out
}

// named writes a selector out: of a package, of a type or of a pointer to one.
func named(s *ast.SelectorExpr, paths map[string]string) string {
	x := s.X
	if p, ok := x.(*ast.ParenExpr); ok {
		x = p.X
	}
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	switch x := x.(type) {
	case *ast.Ident:
		return path.Join(paths[x.Name], s.Sel.Name)
	case *ast.SelectorExpr:
		return named(x, paths) + "." + s.Sel.Name
	default:
		return ""
	}
}

func read(t *testing.T, doc string) surface {
	t.Helper()
	s, err := parseGolden(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseGolden(doc string) (surface, error) {
	text, err := os.ReadFile("testdata/" + doc + ".golden")
	if err != nil {
		return surface{}, err
	}
	return parse(string(text))
}

// paths returns the import paths of all packages that the golden file describes or names.
func (s surface) paths() []string {
	var out []string
	for _, p := range s.packages {
		out = append(out, twins(p.path)...)
	}
	for _, i := range s.imports {
		_, quoted, _ := strings.Cut(i, " ")
		if foreign, err := strconv.Unquote(quoted); err == nil {
			out = append(out, foreign)
		}
	}
	return out
}

// deviations returns the lines of a file of intended differences, without the reasons that must follow them.
func deviations(t *testing.T, doc string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + doc + ".deviations")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		difference, reason, _ := strings.Cut(line, " # ")
		if len(strings.Fields(reason)) < 3 {
			t.Errorf("%q gives no reason", line)
		}
		out = append(out, strings.TrimSpace(difference))
	}
	return out
}

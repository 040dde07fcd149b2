package hygiene

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The folders of the public packages of the library.
var public = []string{"pkg", "apis"}

// The comment of an interface with at most so many methods may document them; in a larger one each method has its
// own.
const maxMethods = 4

// Public packages without an Example of their own, and the place of one instead.
var exemptFromExample = map[string]string{}

// TestExportedNamesAreDocumented checks that exported names have comments. In apis the fields count as well:
// controller-gen copies their comments to the descriptions in the CRDs.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range goFiles(t, public...) {
		if f.test() || f.generated() {
			continue
		}
		for _, line := range undocumented(f, strings.HasPrefix(f.name, "apis/")) {
			t.Error(line)
		}
	}
}

// TestPackagesAreDocumented checks that each package has a comment that begins as go doc expects: "Package x", or
// for a program "Command x" or its name.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t, ".") {
		if f.test() {
			continue
		}
		documented[f.dir()] = documented[f.dir()] || introduces(f.ast.Doc.Text(), f.ast.Name.Name, path.Base(f.dir()))
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment that begins with \"Package\" and its name, or with \"Command\" for a "+
				"program", dir)
		}
	}
}

// introduces reports whether a package comment begins with the name of the package. For a program that is the name
// of its folder, with a capital letter or without.
func introduces(doc, pkg, dir string) bool {
	if pkg != "main" {
		return strings.HasPrefix(doc, "Package "+pkg+" ")
	}
	first, _, _ := strings.Cut(doc, " ")
	return first == "Command" || strings.EqualFold(first, dir)
}

// TestPackagesHaveExamples checks that every public package that can be imported has a runnable Example.
func TestPackagesHaveExamples(t *testing.T) {
	examples := map[string]bool{}
	for _, f := range goFiles(t, public...) {
		if f.ast.Name.Name == "main" || slices.Contains(strings.Split(f.dir(), "/"), "internal") {
			continue
		}
		examples[f.dir()] = examples[f.dir()] || f.test() && hasExample(f)
	}
	for dir, has := range examples {
		reason, exempt := exemptFromExample[dir]
		switch {
		case !has && !exempt:
			t.Errorf("%s has no Example that is run: write one, or say in exemptFromExample where a reader finds it",
				dir)
		case has && exempt:
			t.Errorf("%s has an Example by now: take it out of exemptFromExample (%s)", dir, reason)
		}
	}
	for dir := range exemptFromExample {
		if _, exists := examples[dir]; !exists {
			t.Errorf("%s is in exemptFromExample, but there is no such package", dir)
		}
	}
}

// hasExample reports whether a test file has an Example that go test runs: one with an Output comment.
func hasExample(f goFile) bool {
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") {
			continue
		}
		for _, c := range f.ast.Comments {
			if fn.Body.Pos() < c.Pos() && c.End() < fn.Body.End() && outputComment(c.Text()) {
				return true
			}
		}
	}
	return false
}

func outputComment(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
}

// undocumented returns a line for each exported name without a comment.
func undocumented(f goFile, fields bool) []string {
	var out []string
	miss := func(pos token.Pos, name string) {
		out = append(out, fmt.Sprintf("%s:%d: %s is exported and has no comment", f.name, f.line(pos), name))
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				miss(d.Pos(), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				inSpec(spec, d.Doc != nil, fields, miss)
			}
		}
	}
	return out
}

// inSpec returns the exported names of a specification that lack a comment: a type and the names in it, or constants
// and variables, which may share the comment of their group.
func inSpec(spec ast.Spec, group, fields bool, miss func(token.Pos, string)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		if s.Doc == nil && s.Comment == nil && !group {
			miss(s.Pos(), s.Name.Name)
		}
		switch body := s.Type.(type) {
		case *ast.InterfaceType:
			if body.Methods.NumFields() > maxMethods {
				inFields(s.Name.Name, body.Methods, miss)
			}
		case *ast.StructType:
			if fields {
				inFields(s.Name.Name, body.Fields, miss)
			}
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && !group {
				miss(name.Pos(), name.Name)
			}
		}
	}
}

// inFields returns the exported fields and methods that lack a comment. Embedded types have comments of their own.
func inFields(of string, list *ast.FieldList, miss func(token.Pos, string)) {
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() && field.Doc == nil && field.Comment == nil {
				miss(name.Pos(), of+"."+name.Name)
			}
		}
	}
}

// exportedReceiver reports whether go doc shows the function: it is no method, or one of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			exported = n.X.(*ast.Ident).IsExported()
			return false
		case *ast.Ident:
			exported = n.IsExported()
			return false
		}
		return true
	})
	return exported
}

func TestUndocumented(t *testing.T) {
	const src = `package p

func Bare() {}

// Told says so.
func Told() {}

func hidden() {}

type Kind struct {
	Field string
	// Told is told.
	Told string
}

func (k *Kind) Method() {}

func (k box[T]) Method() {}

// Small says what its method does.
type Small interface {
	Do()
}

// Verbs are many.
type Verbs interface {
	Do()
	Undo() // takes it back
	// Redo is told.
	Redo()
	Repeat()
	Stop()
}

// Both are told.
const (
	One = 1
	Two = 2
)

var (
	Three = 3 // is told
	Four  = 4
)
`
	want := []string{
		"x.go:3: Bare is exported and has no comment",
		"x.go:10: Kind is exported and has no comment",
		"x.go:11: Kind.Field is exported and has no comment",
		"x.go:16: Method is exported and has no comment",
		"x.go:27: Verbs.Do is exported and has no comment",
		"x.go:31: Verbs.Repeat is exported and has no comment",
		"x.go:32: Verbs.Stop is exported and has no comment",
		"x.go:43: Four is exported and has no comment",
	}
	if diff := cmp.Diff(want, undocumented(parse(t, "x.go", src), true)); diff != "" {
		t.Errorf("undocumented(...): -want, +got:\n%s", diff)
	}
}

func TestIntroduces(t *testing.T) {
	cases := map[string]struct {
		reason        string
		doc, pkg, dir string
		want          bool
	}{
		"Package": {"A package begins with its name.", "Package meta is for annotations.\n", "meta", "meta",
			true},
		"OtherPackage": {"A copied comment is no comment.", "Package resource is for objects.\n", "meta", "meta",
			false},
		"None":    {"No comment is none.", "", "meta", "meta", false},
		"Command": {"A program is a command.", "Command mutate changes a decision.\n", "main", "mutate", true},
		"Program": {"It may be called by its name.", "Devcluster is an API server.\n", "main", "devcluster",
			true},
		"PackageMain": {"That a program is package main says nothing.", "Package main is a program.\n", "main",
			"mutate", false},
		"UndocumentedGo": {"A program needs a comment too.", "", "main", "mutate", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := introduces(tc.doc, tc.pkg, tc.dir); got != tc.want {
				t.Errorf("%s\nintroduces(%q, ...): got %t", tc.reason, tc.doc, got)
			}
		})
	}
}

func TestHasExample(t *testing.T) {
	cases := map[string]struct {
		reason string
		body   string
		want   bool
	}{
		"Run": {"go test runs an Example that says what it prints.",
			"func Example() {\n\tprintln()\n\t// Output: x\n}", true},
		"Compiled": {"One without is only compiled.", "func Example() {\n\tprintln()\n}", false},
		"Other": {"What another function prints does not count.",
			"func Example() {}\n\nfunc x() {\n\t// Output: x\n}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hasExample(parse(t, "x_test.go", "package p\n\n"+tc.body+"\n")); got != tc.want {
				t.Errorf("%s\nhasExample(...): got %t", tc.reason, got)
			}
		})
	}
}

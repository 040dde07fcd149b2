package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	recipesDir   = "internal/docs/recipes/"
	recipesPage  = "docs/recipes.md"
	detailsPage  = "docs/connection-details.md"
	maxRecipe    = 32 // lines of a block, without comments and empty lines
	recipeMarker = `(?m)^<!-- generated: (\w+\.go( [\w.]+)+) -->$`
)

// recipeRegions returns the blocks of code on the pages about recipes. The name of such a region is a file of the
// folder recipes, and the declarations of the file that the page shows.
func recipeRegions(t *testing.T) []region {
	t.Helper()
	var out []region
	for _, page := range []string{recipesPage, detailsPage} {
		for _, m := range regexp.MustCompile(recipeMarker).FindAllStringSubmatch(read(t, page), -1) {
			out = append(out, region{page, m[1], func(t *testing.T) string { return recipeCode(t, m[1]) }})
		}
	}
	return out
}

// recipeCode returns declarations of a file as a block of code.
func recipeCode(t *testing.T, name string) string {
	t.Helper()
	words := strings.Fields(name)
	fset := token.NewFileSet()
	text := read(t, recipesDir+words[0])
	file, err := parser.ParseFile(fset, words[0], text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, want := range words[1:] {
		decl := findDeclaration(file, want)
		if decl == nil {
			t.Fatalf("%s has no declaration %s", words[0], want)
		}
		out = append(out, text[fset.Position(decl.from).Offset:fset.Position(decl.to).Offset])
	}
	return "```go\n" + strings.Join(out, "\n\n") + "\n```"
}

// A span is a declaration with its comment.
type span struct{ from, to token.Pos }

// findDeclaration returns the function, Type.Method or type of a name, or nil.
func findDeclaration(file *ast.File, name string) *span {
	for _, d := range file.Decls {
		doc, called := (*ast.CommentGroup)(nil), ""
		switch d := d.(type) {
		case *ast.FuncDecl:
			doc, called = d.Doc, funcName(d)
		case *ast.GenDecl:
			if s, ok := d.Specs[0].(*ast.TypeSpec); ok {
				doc, called = d.Doc, s.Name.Name
			}
		}
		if called != name {
			continue
		}
		if doc == nil {
			return &span{d.Pos(), d.End()}
		}
		return &span{doc.Pos(), d.End()}
	}
	return nil
}

// funcName returns the name of a function, or Type.Method.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return fmt.Sprintf("%s.%s", of, d.Name.Name)
}

// TestRecipesAreWhole checks that the pages show no Go code that is not compiled, that every file of the folder is on
// a page, and that a block is short.
func TestRecipesAreWhole(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range []string{recipesPage, detailsPage} {
		text, generated := read(t, page), 0
		for _, m := range regexp.MustCompile(recipeMarker).FindAllStringSubmatch(text, -1) {
			generated++
			shown[strings.Fields(m[1])[0]] = true
		}
		code := 0
		for _, b := range blocks(text) {
			if b.info != "go" {
				continue
			}
			code++
			if n := codeLines(t, b.text); n > maxRecipe {
				t.Errorf("%s:%d: the block has %d lines of code, more than %d", page, b.line, n, maxRecipe)
			}
		}
		if code != generated {
			t.Errorf("%s has %d blocks of Go code, of which %d are generated", page, code, generated)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, recipesDir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		if !strings.HasSuffix(name, "_test.go") && name != "doc.go" && !shown[name] {
			t.Errorf("no page shows %s", name)
		}
	}
}

// codeLines returns the number of lines without comments and empty lines.
func codeLines(t *testing.T, code string) int {
	t.Helper()
	formatted, err := format.Source([]byte(code))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(formatted, []byte("\n"))
	return len(slices.DeleteFunc(lines, func(line []byte) bool {
		line = bytes.TrimSpace(line)
		return len(line) == 0 || bytes.HasPrefix(line, []byte("//"))
	}))
}

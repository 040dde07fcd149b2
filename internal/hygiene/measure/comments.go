package measure

import (
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comments finds the comments of functions and methods that do not begin with the name. A search for the name does not
// find them. The comment of an Example function is shown as its text, and may begin with anything.
func comments(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		if f.Generated() {
			continue
		}
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || begins(fn.Doc.Text(), fn.Name.Name) || f.Test() && strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			first, _, _ := strings.Cut(fn.Doc.Text(), " ")
			out = append(out, f.finding(f.Line(fn.Pos()), "the comment of %s begins with %q", fn.Name.Name, first))
		}
	}
	return out
}

// begins returns whether a comment is empty, or begins with the name or with an article and the name.
func begins(doc, name string) bool {
	for _, article := range []string{"", "A ", "An "} {
		rest, ok := strings.CutPrefix(doc, article+name)
		next, _ := utf8.DecodeRuneInString(rest)
		if ok && !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_' {
			return true
		}
	}
	return doc == ""
}

// Capitalized counts the comments of unexported functions that begin with the capitalized name of the function. Tests
// do not count.
func (t *Tree) Capitalized() (n int) {
	for _, f := range t.Go {
		if f.Test() || f.Generated() {
			continue
		}
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Name.IsExported() {
				continue
			}
			name := strings.ToUpper(fn.Name.Name[:1]) + fn.Name.Name[1:]
			if doc := fn.Doc.Text(); doc != "" && begins(doc, name) {
				n++
			}
		}
	}
	return n
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A mutant is the source with one change.
type mutant struct {
	file string
	line int
	what string
	src  []byte
}

// String names the place and the change, as compilers do.
func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// mutate returns every mutant of the source, in the order of their places.
func mutate(file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []mutant
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SwitchStmt); ok {
			out = append(out, ofSwitch(source{fset, file, src}, s)...)
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b mutant) int { return a.line - b.line })
	return out, nil
}

// ofSwitch returns the mutants of one switch.
func ofSwitch(s source, sw *ast.SwitchStmt) []mutant {
	var cases []*ast.CaseClause
	for _, stmt := range sw.Body.List {
		if c := stmt.(*ast.CaseClause); c.List != nil {
			cases = append(cases, c)
		}
	}
	var out []mutant
	for i, c := range cases {
		out = append(out, s.without(c))
		if sw.Tag == nil && i > 0 {
			out = append(out, s.exchanged(cases[i-1], c))
		}
	}
	return out
}

// A source is a parsed file and its text.
type source struct {
	fset *token.FileSet
	file string
	text []byte
}

// without returns the mutant that lacks a case.
func (s source) without(c *ast.CaseClause) mutant {
	from, to := s.span(c)
	return s.mutant(c, "delete "+s.head(c), s.text[:from], s.text[to:])
}

// exchanged returns the mutant in which the second case stands before the first. What is between them, a default clause included, stays.
func (s source) exchanged(first, second *ast.CaseClause) mutant {
	from1, to1 := s.span(first)
	from2, to2 := s.span(second)
	return s.mutant(first, fmt.Sprintf("exchange %s with %s", s.head(first), s.head(second)),
		s.text[:from1], s.text[from2:to2], s.text[to1:from2], s.text[from1:to1], s.text[to2:])
}

func (s source) mutant(at *ast.CaseClause, what string, parts ...[]byte) mutant {
	return mutant{file: s.file, line: s.fset.Position(at.Pos()).Line, what: what, src: slices.Concat(parts...)}
}

// span returns the offsets of a case, its statements included.
func (s source) span(c *ast.CaseClause) (from, to int) {
	return s.fset.Position(c.Pos()).Offset, s.fset.Position(c.End()).Offset
}

// head returns the line that a reader knows the case by.
func (s source) head(c *ast.CaseClause) string {
	text := s.text[s.fset.Position(c.Pos()).Offset:s.fset.Position(c.Colon).Offset]
	return `"` + strings.Join(strings.Fields(string(text)), " ") + `"`
}

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A mutant is the source with one change, in an outermost switch.
type mutant struct {
	file     string
	line     int
	what     string
	src      []byte
	from, to int    // the switch in the source without the change
	changed  []byte // the switch with it
}

// String returns the position and the change, in the format of a compiler message.
func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// mutate returns every mutant of the source, in the order of their places.
func mutate(file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []mutant
	outer := source{fset: fset, file: file, text: src}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sw, ok := n.(*ast.SwitchStmt); ok {
			if outer.offset(sw.Pos()) >= outer.to {
				outer.from, outer.to = outer.span(sw)
			}
			out = append(out, ofSwitch(outer, sw)...)
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

// A source is a parsed file and its text, and the place of the outermost switch that contains the change.
type source struct {
	fset     *token.FileSet
	file     string
	text     []byte
	from, to int
}

// without returns the mutant that lacks a case.
func (s source) without(c *ast.CaseClause) mutant {
	from, to := s.span(c)
	return s.mutant(c, "delete "+s.head(c), s.text[:from], s.text[to:])
}

// exchanged returns the mutant in which the second case is before the first. Clauses between them, such as a default,
// stay.
func (s source) exchanged(first, second *ast.CaseClause) mutant {
	from1, to1 := s.span(first)
	from2, to2 := s.span(second)
	return s.mutant(first, fmt.Sprintf("exchange %s with %s", s.head(first), s.head(second)),
		s.text[:from1], s.text[from2:to2], s.text[to1:from2], s.text[from1:to1], s.text[to2:])
}

func (s source) mutant(at *ast.CaseClause, what string, parts ...[]byte) mutant {
	src := slices.Concat(parts...)
	changed := src[s.from : len(src)-(len(s.text)-s.to)]
	return mutant{
		file: s.file, line: s.fset.Position(at.Pos()).Line, what: what, src: src, from: s.from,
		to: s.to, changed: changed,
	}
}

// span returns the offsets of a statement, including everything in it.
func (s source) span(n ast.Node) (from, to int) { return s.offset(n.Pos()), s.offset(n.End()) }

func (s source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// head returns the line of a case, quoted.
func (s source) head(c *ast.CaseClause) string {
	text := s.text[s.offset(c.Pos()):s.offset(c.Colon)]
	return `"` + strings.Join(strings.Fields(string(text)), " ") + `"`
}

// chosen is the environment variable that chooses a mutant of a combined source, counted from 1. Without it, the
// source is unchanged.
const chosen = "MOORAGE_MUTANT"

// combined returns one source with all the mutants, in the order of the source, and a second file of the package, which
// chooses one of them. To compile and link once takes a tenth of the time.
func combined(src []byte, mutants []mutant) (all, choice []byte, err error) {
	name, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	end := 0
	for i, m := range mutants {
		if i == 0 || m.from != mutants[i-1].from {
			out.Write(src[end:m.from])
			out.WriteString("switch mutantChosen {\n")
		}
		fmt.Fprintf(&out, "case \"%d\":\n%s\n", i+1, m.changed)
		if i+1 == len(mutants) || m.from != mutants[i+1].from {
			fmt.Fprintf(&out, "default:\n%s\n}", src[m.from:m.to])
			end = m.to
		}
	}
	out.Write(src[end:])
	return out.Bytes(), fmt.Appendf(nil, "package %s\n\nimport \"os\"\n\nvar mutantChosen = os.Getenv(%q)\n",
		name.Name, chosen), nil
}

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A mutant is one change in the body of a function.
type mutant struct {
	subject *subject
	file    *file
	fn      *ast.FuncDecl
	what    string
	edits   []edit // in the order of their places
	reach   int    // offset of the statement that the change is in: in front of it, the mutant is reached

	number  int // in the binary of its subject, from 1; 0: not drawn
	covered []string
}

// An edit replaces a part of a file.
type edit struct {
	from, to int
	text     string
}

// place returns the position of the change, in the format of compilers.
func (m *mutant) place() string {
	return fmt.Sprintf("%s/%s:%d", m.subject.dir, m.file.name, m.file.line(m.edits[0].from))
}

// function returns the name of the function, with the receiver's type.
func (m *mutant) function() string {
	if m.fn.Recv == nil {
		return m.fn.Name.Name
	}
	t := m.fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	return m.file.at(t) + "." + m.fn.Name.Name
}

// String returns the position and the change.
func (m *mutant) String() string { return fmt.Sprintf("%s: %s: %s", m.place(), m.function(), m.what) }

// changed returns the text from one offset to another with the change.
func (m *mutant) changed(from, to int) string {
	var out strings.Builder
	for _, e := range m.edits {
		out.Write(m.file.text[from:e.from])
		out.WriteString(e.text)
		from = e.to
	}
	out.Write(m.file.text[from:to])
	return out.String()
}

// diff returns the lines that the change touches, before and after.
func (m *mutant) diff() (lines []string) {
	from, to := m.edits[0].from, m.edits[len(m.edits)-1].to
	for from > 0 && m.file.text[from-1] != '\n' {
		from--
	}
	for to < len(m.file.text) && m.file.text[to] != '\n' {
		to++
	}
	before, after := strings.Split(string(m.file.text[from:to]), "\n"), strings.Split(m.changed(from, to), "\n")
	// Equal lines at both ends are omitted.
	for len(before) > 1 && len(after) > 1 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 1 && len(after) > 1 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	for _, line := range before {
		lines = append(lines, "- "+line)
	}
	for _, line := range after {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// A finder collects the mutants of one function.
type finder struct {
	subject   *subject
	file      *file
	fn        *ast.FuncDecl
	types     typed
	reach     int
	failed    map[string]bool // expressions of errors that are not nil at this place
	pair      token.Pos       // the end of the two statements that interact compares
	unordered map[*ast.CompositeLit]bool
	seen      map[string]bool
	found     []*mutant
}

// mutate returns every mutant of the functions of a file, in the order of the source.
func mutate(s *subject, f *file, info typed) (all []*mutant) {
	if ast.IsGenerated(f.ast) {
		return nil
	}
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "_" {
			find := finder{
				subject: s, file: f, fn: fn, types: info, unordered: map[*ast.CompositeLit]bool{},
				seen: map[string]bool{},
			}
			find.block(fn.Body.List)
			all = append(all, find.found...)
		}
	}
	slices.SortStableFunc(all, func(a, b *mutant) int { return a.edits[0].from - b.edits[0].from })
	return all
}

// add adds a mutant, unless another operator has made the same.
func (f *finder) add(what string, edits ...edit) {
	if key := fmt.Sprint(edits); !f.seen[key] {
		f.seen[key] = true
		f.found = append(f.found, &mutant{
			subject: f.subject, file: f.file, fn: f.fn, what: what, edits: edits, reach: f.reach,
		})
	}
}

func (f *finder) replace(n ast.Node, text string) edit {
	return edit{f.file.offset(n.Pos()), f.file.offset(n.End()), text}
}

// exchange adds the mutant in which two nodes have changed places.
func (f *finder) exchange(what string, a, b ast.Node) {
	f.add(fmt.Sprintf("exchange %s %s and %s", what, f.quote(a), f.quote(b)), f.replace(a, f.file.at(b)),
		f.replace(b, f.file.at(a)))
}

// quote returns the text of a node on one line, and cut.
func (f *finder) quote(n ast.Node) string {
	const most = 70
	text := strings.Join(strings.Fields(f.file.at(n)), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return `"` + text + `"`
}

// flipped has the opposite of each comparison.
var flipped = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ,
	token.LEQ: token.GTR,
}

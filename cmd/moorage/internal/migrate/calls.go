package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// calls writes calls that are written otherwise here, from the innermost outwards: what an
// outer one holds has to be as it shall be.
func calls(m *migration, s *source, used imports) {
	if len(m.rules.calls) == 0 || len(used) == 0 {
		return
	}

	c := &calling{m: m, s: s, used: used, local: map[string]string{}}

	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if to, ok := c.rule(call); ok {
				s.replace(call, c.write(call, to))

				return false // what is within is written with it
			}
		}

		return true
	})

	c.imports()
}

// A calling is that of one file.
type calling struct {
	m     *migration
	s     *source
	used  imports
	local map[string]string
}

// rule returns how a call is written here, if that is not the same.
func (c *calling) rule(call *ast.CallExpr) (to callTo, ok bool) {
	name, sel := qualified(call.Fun)
	if sel == nil {
		return callTo{}, false
	}

	p, ok := c.used[name]
	if !ok {
		return callTo{}, false
	}

	to, ok = c.m.rules.calls[p.there][sel.Sel.Name]

	return to, ok && len(call.Args) == strings.Count(to.form, "$")-strings.Count(to.form, "$p")
}

// write returns the text of a call.
func (c *calling) write(call *ast.CallExpr, to callTo) string {
	out := to.form
	if to.pkg != "" {
		out = strings.ReplaceAll(out, "$p", c.call(to.pkg))
	}

	for i, arg := range call.Args {
		out = strings.ReplaceAll(out, "$"+strconv.Itoa(i+1), c.read(arg))
	}

	return out
}

// read returns the text of an expression with the calls in it written.
func (c *calling) read(n ast.Expr) string {
	inner := &source{name: c.s.name, text: c.s.text, fset: c.s.fset, file: c.s.file}
	saved := c.s.edits
	c.s.edits = nil

	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if to, ok := c.rule(call); ok {
				c.s.replace(call, c.write(call, to))

				return false
			}
		}

		return true
	})

	inner.edits, c.s.edits = c.s.edits, saved
	from, to := c.s.offset(n.Pos()), c.s.offset(n.End())

	return inner.part(from, to)
}

// part returns what is between two offsets, with the edits made.
func (s *source) part(from, to int) string {
	var out strings.Builder

	slices.SortFunc(s.edits, func(a, b edit) int { return a.from - b.from })

	for _, e := range s.edits {
		out.WriteString(s.text[from:e.from])
		out.WriteString(e.text)
		from = e.to
	}

	out.WriteString(s.text[from:to])

	return out.String()
}

// call returns what the file calls a package.
func (c *calling) call(pkg string) string {
	to := full(pkg, c.m.module)

	if name, ok := c.local[to]; ok {
		return name
	}

	for _, spec := range c.s.file.Imports {
		if importPath(spec) == to {
			return localName(spec)
		}
	}

	name := calledAs(to)
	for taken := c.s.names(); taken[name]; {
		name = "moorage" + name
	}

	c.local[to] = name

	return name
}

// imports adds what the calls need.
func (c *calling) imports() {
	for to, name := range c.local {
		c.s.importToo(name, to)
	}
}

// importToo adds an import behind the last one.
func (s *source) importToo(local, to string) {
	for _, decl := range slices.Backward(s.file.Decls) {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}

		if gen.Lparen.IsValid() {
			s.cut(gen.Rparen, gen.Rparen, spec(local, to)+"\n")
		} else {
			s.replace(gen, "import (\n"+s.read(gen.Specs[0])+"\n"+spec(local, to)+"\n)")
		}

		return
	}

	s.cut(s.file.Name.End(), s.file.Name.End(), fmt.Sprintf("\n\nimport %s\n", spec(local, to)))
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package migrate

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// drops removes what has no counterpart and is not needed: the argument of a call, the
// element of a literal, the statement that uses it, and what uses a variable that it set.
func drops(m *migration, s *source, used imports) {
	d := &dropping{s: s, gone: map[ast.Node]bool{}}

	for _, u := range s.uses(used) {
		if t := m.rules.target(u); t.drop {
			d.drop(append(u.path, u.expr), t.note)
		}
	}

	if len(used) > 0 {
		d.fields(m.rules.fields)
		d.reported(m.rules.reported)
	}
}

// A dropping is what is removed from one file.
type dropping struct {
	s    *source
	gone map[ast.Node]bool
}

// fields removes the uses of fields.
func (d *dropping) fields(fields map[string]string) {
	walk(d.s.file, func(path []ast.Node) {
		switch n := path[len(path)-1].(type) {
		case *ast.SelectorExpr:
			if note, ok := fields[n.Sel.Name]; ok {
				if name, _ := qualified(n); name == "" { // a field, and not a name of a package
					d.drop(path, note)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				if note, ok := fields[key.Name]; ok {
					d.drop(path, note)
				}
			}
		}
	})
}

// reported marks the uses of fields that stay.
func (d *dropping) reported(fields map[string]string) {
	walk(d.s.file, func(path []ast.Node) {
		if sel, ok := path[len(path)-1].(*ast.SelectorExpr); ok && fields[sel.Sel.Name] != "" {
			if name, _ := qualified(sel); name == "" {
				d.s.cut(sel.Pos(), sel.Pos(), d.s.mark(fields[sel.Sel.Name]))
			}
		}
	})
}

// walk calls a function for each node of a file, with what holds it.
func walk(file *ast.File, visit func(path []ast.Node)) {
	var path []ast.Node

	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]

			return true
		}

		path = append(path, n)
		visit(path)

		return true
	})
}

// drop removes the least that holds the end of a path and can be removed.
func (d *dropping) drop(path []ast.Node, note string) {
	for i := len(path) - 1; i > 0; i-- {
		if d.gone[path[i]] {
			return
		}

		switch holder := path[i-1].(type) {
		case *ast.CallExpr:
			if d.argument(holder, path[i], note) {
				d.gone[path[i]] = true

				return
			}
		case *ast.CompositeLit:
			if path[i] == holder.Type {
				continue
			}

			d.gone[path[i]] = true
			d.element(holder.Elts, path[i], holder.Lbrace+1, holder.Rbrace, note)

			return
		case *ast.BlockStmt, *ast.CaseClause:
			d.statement(path[:i+1], note)

			return
		}
	}

	// A type, a field of a struct or a declaration: nothing knows what it is for.
	last := path[len(path)-1]
	d.s.cut(last.Pos(), last.Pos(), d.s.mark(note))
}

// optional are functions that take as many arguments as there are.
var optional = map[string]bool{"append": true, "NewReconciler": true, "Setup": true, "SetupGated": true}

// argument removes an argument of a call that takes any number of them.
func (d *dropping) argument(call *ast.CallExpr, arg ast.Node, note string) bool {
	var name string

	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}

	if !optional[name] || name == "append" && len(call.Args) == 2 {
		return false
	}

	for i, a := range call.Args {
		if i > 0 && a == arg {
			d.element(call.Args, arg, call.Lparen+1, call.Rparen, note)

			return true
		}
	}

	return false
}

// element removes one of several with the comma.
func (d *dropping) element(all []ast.Expr, one ast.Node, begin, end token.Pos, note string) {
	for i, e := range all {
		if e != one {
			continue
		}

		from, to := d.s.offset(e.Pos()), d.s.offset(e.End())
		rest := d.s.text[to:d.s.offset(end)]

		switch comma := strings.IndexByte(rest, ','); {
		case comma >= 0 && strings.TrimSpace(rest[:comma]) == "":
			to += comma + 1
		case i > 0:
			from = d.s.offset(all[i-1].End())
		default:
			from, to = d.s.offset(begin), d.s.offset(end)
		}

		d.s.edits = append(d.s.edits, edit{from, to, d.s.mark(note)})
	}
}

// statement removes a statement: the outermost if that is for nothing else, if there is one.
func (d *dropping) statement(path []ast.Node, note string) {
	last := len(path) - 1

	for i := last - 1; i > 1; i-- {
		if _, ok := path[i].(*ast.FuncDecl); ok {
			break
		}

		block, ok := path[i].(*ast.BlockStmt)
		if !ok || i < 1 {
			continue
		}

		if holder, ok := path[i-1].(*ast.IfStmt); ok && holder.Body == block && holder.Else == nil &&
			d.only(block, path[i+1]) {
			last = i - 1
		}
	}

	stmt := path[last]
	if d.gone[stmt] {
		return
	}

	d.gone[stmt] = true
	d.s.replace(stmt, d.s.mark(note))
	d.followers(path[:last+1])
}

// only reports whether a block has nothing but one statement.
func (d *dropping) only(block *ast.BlockStmt, one ast.Node) bool {
	for _, s := range block.List {
		if s != one && !d.gone[s] {
			return false
		}
	}

	return true
}

// followers removes what uses the variable that a removed statement set.
func (d *dropping) followers(path []ast.Node) {
	set, ok := path[len(path)-1].(*ast.AssignStmt)
	if !ok || set.Tok != token.DEFINE || len(set.Lhs) != 1 {
		return
	}

	block, ok := path[len(path)-2].(*ast.BlockStmt)
	if !ok {
		return
	}

	id, ok := set.Lhs[0].(*ast.Ident)
	if !ok || id.Obj == nil {
		return
	}

	walk(d.s.file, func(at []ast.Node) {
		u, ok := at[len(at)-1].(*ast.Ident)
		if ok && u != id && u.Obj == id.Obj && u.Pos() > block.Pos() {
			d.drop(slices.Clone(at), "")
		}
	})
}

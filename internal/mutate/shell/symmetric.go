package main

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// symmetric reports whether a call is one of a function of the package that returns the same with its two arguments
// exchanged: with the names of its parameters exchanged, it is the same function.
func (f *finder) symmetric(call *ast.CallExpr) bool {
	fn := f.function(call)
	if fn == nil || len(call.Args) != 2 {
		return false
	}
	for _, other := range f.subject.files {
		for _, decl := range other.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Pos() == fn.Pos() && d.Body != nil {
				m := mirror{&finder{subject: f.subject, file: other, fn: d, types: f.types}, map[string]string{}}
				var names []string
				for _, field := range d.Type.Params.List {
					for _, name := range field.Names {
						names = append(names, name.Name)
					}
				}
				return len(names) == 2 && m.exchange(names[:1], names[1:]) && m.statements(d.Body.List)
			}
		}
	}
	return false
}

// A mirror compares code with itself after an exchange of names.
type mirror struct {
	*finder
	names map[string]string
}

// exchange exchanges names from now on.
func (m mirror) exchange(a, b []string) bool {
	for i := range a {
		m.names[a[i]], m.names[b[i]] = b[i], a[i]
	}
	return true
}

// statements reports whether each statement is its own mirror image. Two neighbors that declare variables may be
// mirror images of each other.
func (m mirror) statements(list []ast.Stmt) bool {
	for i := 0; i < len(list); i++ {
		if i+1 < len(list) && m.pair(list[i], list[i+1]) {
			i++
		} else if !m.same(list[i], list[i]) {
			return false
		}
	}
	return true
}

// pair reports whether two declarations are mirror images of each other, and if so exchanges their variables as
// well.
func (m mirror) pair(a, b ast.Stmt) bool {
	one, ok := a.(*ast.AssignStmt)
	other, ok2 := b.(*ast.AssignStmt)
	if !ok || !ok2 || one.Tok != token.DEFINE || other.Tok != token.DEFINE || len(one.Lhs) != len(other.Lhs) ||
		len(one.Rhs) != 1 || len(other.Rhs) != 1 {
		return false
	}
	x, fits := m.text(one.Rhs[0], m.names)
	y, fits2 := m.text(other.Rhs[0], nil)
	if !fits || !fits2 || x != y {
		return false
	}
	var names, with []string
	for i := range one.Lhs {
		first, second := one.Lhs[i].(*ast.Ident), other.Lhs[i].(*ast.Ident)
		if m.declared(first) || m.declared(second) {
			return false
		}
		names, with = append(names, first.Name), append(with, second.Name)
	}
	return m.exchange(names, with)
}

// same reports whether a statement is the mirror image of another.
func (m mirror) same(a, b ast.Stmt) bool {
	switch one := a.(type) {
	case *ast.ReturnStmt:
		other, ok := b.(*ast.ReturnStmt)
		return ok && slices.EqualFunc(one.Results, other.Results, m.equal)
	case *ast.IfStmt:
		other, ok := b.(*ast.IfStmt)
		return ok && one.Init == nil && one.Else == nil && m.equal(one.Cond, other.Cond) &&
			mirror{m.finder, maps.Clone(m.names)}.statements(one.Body.List)
	}
	return false
}

func (m mirror) equal(a, b ast.Expr) bool {
	x, ok := m.text(a, m.names)
	y, ok2 := m.text(b, nil)
	return ok && ok2 && x == y
}

// text writes an expression in a normal form, in which equivalent expressions are equal, with names exchanged as
// names has it. It returns false for an expression that it does not support.
func (m mirror) text(e ast.Expr, names map[string]string) (string, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if name, ok := names[e.Name]; ok {
			return name, true
		}
		return e.Name, true
	case *ast.BasicLit:
		return e.Value, true
	case *ast.SelectorExpr:
		text, ok := m.text(e.X, names)
		return text + "." + e.Sel.Name, ok
	case *ast.UnaryExpr:
		text, ok := m.text(e.X, names)
		return e.Op.String() + text, ok && (e.Op == token.NOT || e.Op == token.SUB)
	case *ast.BinaryExpr:
		either := e.Op == token.EQL || e.Op == token.NEQ ||
			(e.Op == token.LAND || e.Op == token.LOR) && m.steady(e.X, nil) && m.steady(e.Y, nil)
		return m.texts(e.Op.String(), names, either, e.X, e.Y)
	case *ast.CallExpr:
		fun, ok := m.text(e.Fun, names)
		if method, selects := e.Fun.(*ast.SelectorExpr); selects && method.Sel.Name == "Equal" && len(e.Args) == 1 {
			return m.texts("Equal", names, true, method.X, e.Args[0])
		}
		args, ok2 := m.texts(",", names, equality(e) || calls(e, "min") || calls(e, "max"), e.Args...)
		return fun + args, ok && ok2
	}
	return "", false
}

// texts writes a list of expressions, sorted if their order does not matter.
func (m mirror) texts(between string, names map[string]string, sorted bool, list ...ast.Expr) (string, bool) {
	var all []string
	for _, e := range list {
		text, ok := m.text(e, names)
		if !ok {
			return "", false
		}
		all = append(all, text)
	}
	if sorted {
		slices.Sort(all)
	}
	return "(" + strings.Join(all, between) + ")", true
}

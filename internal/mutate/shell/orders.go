package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// The functions of this file find neighbors whose order no caller can notice. They are not exchanged.

// either reports whether two neighboring statements are ifs of which at most one is entered, or ifs with the same
// body. Both bodies leave, so that the second condition is evaluated only if the first does not hold.
func (f *finder) either(a, b ast.Stmt) bool {
	one, ok := a.(*ast.IfStmt)
	other, ok2 := b.(*ast.IfStmt)
	if !ok || !ok2 || one.Init != nil || other.Init != nil || one.Else != nil || other.Else != nil ||
		!leave(one.Body) || !leave(other.Body) {
		return false
	}
	return f.apart(one.Cond, other.Cond) || f.cross(one.Cond, other.Cond, one.Body.List, other.Body.List) ||
		f.file.at(one.Body) == f.file.at(other.Body) && f.harmless(one.Cond) && f.harmless(other.Cond)
}

// cross reports whether two branches compare with the same value, and each returns the operand that the other
// compares: where both conditions hold, both operands are that value.
func (f *finder) cross(a, b ast.Expr, first, second []ast.Stmt) bool {
	one, ok := a.(*ast.BinaryExpr)
	other, ok2 := b.(*ast.BinaryExpr)
	if !ok || !ok2 || one.Op != token.EQL || other.Op != token.EQL || !f.harmless(a) || !f.harmless(b) ||
		len(first) != 1 || len(second) != 1 {
		return false
	}
	if t, basic := f.types.TypeOf(one.X).Underlying().(*types.Basic); basic &&
		t.Info()&(types.IsInteger|types.IsString) == 0 || !basic && f.file.at(one.Y) != "nil" {
		return false
	}
	returns := func(s ast.Stmt, e ast.Expr) bool {
		r, ok := s.(*ast.ReturnStmt)
		return ok && len(r.Results) == 1 && f.file.at(r.Results[0]) == f.file.at(e)
	}
	return f.file.at(one.Y) == f.file.at(other.Y) &&
		types.Identical(f.types.TypeOf(one.X), f.types.TypeOf(other.X)) && returns(first[0], other.X) &&
		returns(second[0], one.X)
}

// leave reports whether the end of a block is never reached.
func leave(b *ast.BlockStmt) bool { return len(b.List) > 0 && ends(b.List[len(b.List)-1]) }

// apart reports whether two conditions cannot both hold, and can be evaluated in either order: their first operands
// contradict each other, so that nothing else of the wrong one is evaluated, or both are harmless. Calls that cannot
// fail count as having no effect.
func (f *finder) apart(a, b ast.Expr) bool {
	ones, others := conjuncts(a), conjuncts(b)
	if (f.exclude(ones[0], others[0]) || f.exclude(others[0], ones[0])) && !f.fallible(a, b) {
		return true
	}
	if !f.harmless(a) || !f.harmless(b) {
		return false
	}
	for _, x := range ones {
		for _, y := range others {
			if f.contradict(x, y) || f.contradict(y, x) {
				return true
			}
		}
	}
	return false
}

// conjuncts returns the operands of a conjunction, in the order in which they are evaluated.
func conjuncts(e ast.Expr) []ast.Expr {
	e = ast.Unparen(e)
	if and, ok := e.(*ast.BinaryExpr); ok && and.Op == token.LAND {
		return append(conjuncts(and.X), conjuncts(and.Y)...)
	}
	return []ast.Expr{e}
}

// leavesIfEmpty reports whether a guard leaves if the list or map that the loop beside it ranges over is empty: the
// loop does nothing then, so that the order does not matter. The loop must not change what it ranges over, also not
// under another name.
func (f *finder) leavesIfEmpty(guard, loop ast.Stmt) bool {
	n, ok := guard.(*ast.IfStmt)
	over, ok2 := loop.(*ast.RangeStmt)
	if !ok || !ok2 || n.Init != nil || n.Else != nil || !leave(n.Body) {
		return false
	}
	name, ok := over.X.(*ast.Ident)
	if !ok || f.captured(name.Name) || mentions(f.file.at(over.Body), []string{name.Name}) || f.global(name) {
		return false
	}
	switch f.types.TypeOf(name).Underlying().(type) {
	case *types.Slice:
		return f.file.at(n.Cond) == "len("+name.Name+") == 0" || f.file.at(n.Cond) == name.Name+" == nil"
	case *types.Map:
		return f.file.at(n.Cond) == name.Name+" == nil"
	}
	return false
}

// global reports whether a name is not that of a local variable, a parameter or a result of the function.
func (f *finder) global(name *ast.Ident) bool {
	v := f.types.Uses[name]
	return v == nil || v.Pos() < f.fn.Pos() || v.Pos() >= f.fn.End()
}

// whichever reports whether the order in which a loop takes the values of a list does not matter: it only deletes
// from maps, or only puts one constant into a map, or only adds to integers or takes the greatest or the least; or
// it only compares a string or a number, and leaves with the same result for each.
func (f *finder) whichever(loop *ast.RangeStmt) bool {
	key, plain := loop.Key.(*ast.Ident)
	value, named := loop.Value.(*ast.Ident)
	list, ok := f.types.TypeOf(loop.X).Underlying().(*types.Slice)
	if !ok || !plain || !named || key.Name != "_" || loop.Tok != token.DEFINE || len(loop.Body.List) == 0 {
		return false
	}
	if _, basic := list.Elem().Underlying().(*types.Basic); basic && f.refuses(loop.Body.List, value.Name) {
		return true
	}
	own := f.effectsOf(loop.Body).assigns
	first := f.gathers(loop.Body.List[0], own)
	for _, s := range loop.Body.List[1:] {
		if first == putting || f.gathers(s, own) != first {
			return false
		}
	}
	return first != nothingGathered
}

// refuses reports whether statements only leave, with the same result for every value, if a condition holds for a
// value.
func (f *finder) refuses(list []ast.Stmt, value string) bool {
	n, ok := list[0].(*ast.IfStmt)
	return ok && len(list) == 1 && n.Init == nil && n.Else == nil && len(n.Body.List) == 1 && leave(n.Body) &&
		!mentions(f.file.at(n.Body), []string{value}) && f.answers(n.Cond)
}

// A gathering is an operation that a loop repeats, and whose result does not depend on the order.
type gathering int

const (
	nothingGathered gathering = iota
	deleting
	putting
	summing
)

// gathers returns the gathering of a statement. own has all that the loop assigns to.
func (f *finder) gathers(s ast.Stmt, own []string) gathering {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && calls(call, "delete") && free(call.Args[0]) && free(call.Args[1]) {
			return deleting
		}
	case *ast.IfStmt:
		if f.raisesTo(s, own) {
			return summing
		}
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			break
		}
		switch to := s.Lhs[0].(type) {
		case *ast.IndexExpr:
			if _, isMap := f.types.TypeOf(to.X).Underlying().(*types.Map); isMap && s.Tok == token.ASSIGN &&
				f.types.Types[s.Rhs[0]].Value != nil && free(to.X) && free(to.Index) {
				return putting
			}
		case *ast.Ident:
			if f.sums(s, to, own) {
				return summing
			}
		}
	}
	return nothingGathered
}

// sums reports whether an assignment adds to a local integer, or takes the greater or the lesser of a local variable
// and another value.
func (f *finder) sums(s *ast.AssignStmt, to *ast.Ident, own []string) bool {
	if _, copied := f.copied(to); !copied && f.outlives(to) {
		return false
	}
	add := s.Rhs[0]
	switch s.Tok {
	case token.ADD_ASSIGN:
		if b, ok := f.types.TypeOf(to).Underlying().(*types.Basic); !ok || b.Info()&types.IsInteger == 0 {
			return false
		}
	case token.ASSIGN:
		call, ok := add.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || !calls(call, "max") && !calls(call, "min") ||
			f.file.at(call.Args[0]) != to.Name {
			return false
		}
		add = call.Args[1]
	default:
		return false
	}
	return f.answers(add) && !mentions(f.file.at(add), own)
}

// raisesTo reports whether an if declares a value, and assigns it to a local variable if it is greater.
func (f *finder) raisesTo(n *ast.IfStmt, own []string) bool {
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 || !f.answers(init.Rhs[0]) ||
		mentions(f.file.at(init.Rhs[0]), own) {
		return false
	}
	if f.raised(n, f.file.at(init.Lhs[0])) == "" {
		return false
	}
	to := n.Body.List[0].(*ast.AssignStmt).Lhs[0]
	_, copied := f.copied(to)
	return copied || !f.outlives(to)
}

// sorts reports whether a guard leaves if the list that the statement beside it sorts is empty: sorting changes
// neither an empty list nor a length.
func (f *finder) sorts(guard, sort ast.Stmt) bool {
	n, ok := guard.(*ast.IfStmt)
	c, ok2 := call(sort)
	if !ok || !ok2 || n.Init != nil || n.Else != nil || !leave(n.Body) || len(c.Args) != 1 {
		return false
	}
	method, ok := c.Fun.(*ast.SelectorExpr)
	name, ok2 := c.Args[0].(*ast.Ident)
	return ok && ok2 && method.Sel.Name == "Sort" && f.packageOf(method) == "slices" &&
		f.file.at(n.Cond) == "len("+name.Name+") == 0"
}

// looksUp reports whether an if makes a map where there is none, and the statement beside it only reads a key of the
// map into a local variable: an empty map and a nil map answer the same.
func (f *finder) looksUp(room, look ast.Stmt) bool {
	n, ok := room.(*ast.IfStmt)
	assign, ok2 := look.(*ast.AssignStmt)
	if !ok || !ok2 || n.Init != nil || n.Else != nil || len(n.Body.List) != 1 || len(assign.Lhs) != 1 ||
		len(assign.Rhs) != 1 || assign.Tok != token.ASSIGN {
		return false
	}
	made, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || made.Tok != token.ASSIGN || len(made.Lhs) != 1 || !empty(made.Rhs[0]) {
		return false
	}
	to, ok := assign.Lhs[0].(*ast.Ident)
	in, ok2 := assign.Rhs[0].(*ast.IndexExpr)
	if !ok || !ok2 || f.global(to) || f.captured(to.Name) || !free(in.X) || !free(in.Index) {
		return false
	}
	_, isMap := f.types.TypeOf(in.X).Underlying().(*types.Map)
	where := f.file.at(in.X)
	return isMap && f.file.at(made.Lhs[0]) == where && f.file.at(n.Cond) == where+" == nil" &&
		!mentions(f.file.at(n), []string{to.Name}) && !mentions(f.file.at(in.Index), []string{where})
}

// empty reports whether an expression makes an empty map.
func empty(e ast.Expr) bool {
	if lit, ok := e.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	c, ok := e.(*ast.CallExpr)
	return ok && calls(c, "make")
}

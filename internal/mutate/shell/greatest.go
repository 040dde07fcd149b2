package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// greatest tells whether two statements do no more than to tell the same function of the function's own a value, of which it keeps the greatest: in any order it is the
// same one. Times that are equal are the same, in whatever place they were told.
func (f *finder) greatest(a, b ast.Stmt) bool {
	one, other := f.told(a), f.told(b)
	if one == nil || other == nil || f.types.Uses[one] != f.types.Uses[other] {
		return false
	}
	kept := f.keepsGreatest(f.types.Uses[one])
	return kept != "" && !mentions(f.file.at(a), []string{kept}) && !mentions(f.file.at(b), []string{kept})
}

// told returns the name of a function that a statement tells a value, maybe on a condition, besides asking for what cannot fail.
func (f *finder) told(s ast.Stmt) *ast.Ident {
	e := f.effectsOf(s)
	if e.leaves || e.deferred || len(e.assigns) > 0 {
		return nil
	}
	if n, ok := s.(*ast.IfStmt); ok && n.Else == nil && len(n.Body.List) == 1 {
		s = n.Body.List[0]
	}
	c, ok := call(s)
	if !ok || len(c.Args) != 1 || mayFail(f.types.TypeOf(c.Args[0])) {
		return nil
	}
	name, _ := c.Fun.(*ast.Ident)
	return name
}

// keepsGreatest returns the name of the variable in which a function literal keeps the greatest of what it is told, or nothing.
func (f *finder) keepsGreatest(function types.Object) (kept string) {
	if function == nil {
		return ""
	}
	ast.Inspect(f.fn.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		if slices.ContainsFunc(assign.Lhs, func(e ast.Expr) bool { name, ok := e.(*ast.Ident); return ok && f.types.Uses[name] == function }) {
			kept = "" // it is another function later; the declaration comes first
		}
		if assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 && assign.Lhs[0].Pos() == function.Pos() {
			if lit, ok := assign.Rhs[0].(*ast.FuncLit); ok {
				kept = f.greatestOf(lit)
			}
		}
		return true
	})
	return kept
}

// greatestOf returns the name of the variable to which a function literal assigns its parameter, if that is greater than what the variable is, and does nothing else.
func (f *finder) greatestOf(lit *ast.FuncLit) string {
	if len(lit.Body.List) != 1 || len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 {
		return ""
	}
	n, ok := lit.Body.List[0].(*ast.IfStmt)
	if !ok || n.Init != nil || n.Else != nil || len(n.Body.List) != 1 {
		return ""
	}
	assign, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return ""
	}
	param, kept := lit.Type.Params.List[0].Names[0].Name, f.file.at(assign.Lhs[0])
	_, plain := assign.Lhs[0].(*ast.Ident)
	if !plain || f.file.at(assign.Rhs[0]) != param || param == kept {
		return ""
	}
	if !slices.Contains([]string{param + " > " + kept, kept + " < " + param, param + ".After(" + kept + ")", kept + ".Before(" + param + ")"}, f.file.at(n.Cond)) {
		return ""
	}
	if t, basic := f.types.TypeOf(assign.Lhs[0]).Underlying().(*types.Basic); basic && t.Info()&types.IsFloat != 0 {
		return "" // not a number is not less
	}
	return kept
}

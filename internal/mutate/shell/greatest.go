package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// greatest reports whether two statements only pass a value to the same local function, which keeps the greatest:
// the result does not depend on the order. Times that are equal are the same, wherever they come from.
func (f *finder) greatest(a, b ast.Stmt) bool {
	one, other := f.callee(a), f.callee(b)
	if one == nil || other == nil || f.types.Uses[one] != f.types.Uses[other] {
		return false
	}
	kept := f.keepsGreatest(f.types.Uses[one])
	return kept != "" && !mentions(f.file.at(a), []string{kept}) && !mentions(f.file.at(b), []string{kept})
}

// callee returns the name of the function to which a statement passes one value, and does nothing else but, maybe,
// to evaluate a condition that cannot fail.
func (f *finder) callee(s ast.Stmt) *ast.Ident {
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

// keepsGreatest returns the name of the variable in which a function literal keeps the greatest of its arguments, or
// "".
func (f *finder) keepsGreatest(function types.Object) (kept string) {
	if function == nil {
		return ""
	}
	ast.Inspect(f.fn.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		if slices.ContainsFunc(assign.Lhs, func(e ast.Expr) bool {
			name, ok := e.(*ast.Ident)
			return ok &&
				f.types.Uses[name] == function
		}) {
			kept = "" // the variable holds another function later; the declaration comes first
		}
		if assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 &&
			assign.Lhs[0].Pos() == function.Pos() {
			if lit, ok := assign.Rhs[0].(*ast.FuncLit); ok {
				kept = f.greatestOf(lit)
			}
		}
		return true
	})
	return kept
}

// greatestOf returns the name of the variable to which a function literal assigns its parameter if that is greater,
// or "" if the literal does anything else.
func (f *finder) greatestOf(lit *ast.FuncLit) string {
	if len(lit.Body.List) != 1 || len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 {
		return ""
	}
	n, ok := lit.Body.List[0].(*ast.IfStmt)
	if !ok || n.Init != nil {
		return ""
	}
	return f.raised(n, lit.Type.Params.List[0].Names[0].Name)
}

// raised returns the name of the variable to which an if assigns a named value if that is greater, or "" if the if
// does anything else.
func (f *finder) raised(n *ast.IfStmt, value string) string {
	if n.Else != nil || len(n.Body.List) != 1 {
		return ""
	}
	assign, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return ""
	}
	kept := f.file.at(assign.Lhs[0])
	_, plain := assign.Lhs[0].(*ast.Ident)
	if !plain || f.file.at(assign.Rhs[0]) != value || value == kept {
		return ""
	}
	if !slices.Contains([]string{value + " > " + kept, kept + " < " + value, value + ".After(" + kept + ")",
		kept + ".Before(" + value + ")"}, f.file.at(n.Cond)) {
		return ""
	}
	if t, basic := f.types.TypeOf(assign.Lhs[0]).Underlying().(*types.Basic); basic && t.Info()&types.IsFloat != 0 {
		return "" // NaN is not less
	}
	return kept
}

// takesGreatest reports whether a call is one of a function of the package that returns the greatest of its
// arguments: their order does not matter. Such a function assigns to its first parameter each of the others that is
// greater, and returns that parameter.
func (f *finder) takesGreatest(call *ast.CallExpr) bool {
	fn := f.function(call)
	if fn == nil || !fn.Signature().Variadic() || fn.Signature().Params().Len() != 2 || call.Ellipsis.IsValid() {
		return false
	}
	for _, other := range f.subject.files {
		for _, decl := range other.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Pos() == fn.Pos() && d.Body != nil && len(d.Body.List) == 2 {
				in := &finder{subject: f.subject, file: other, fn: d, types: f.types}
				return in.raises(d.Body.List[0],
					fn.Signature().Params().At(1).Name()) == fn.Signature().Params().At(0).Name() &&
					other.at(d.Body.List[1]) == "return "+fn.Signature().Params().At(0).Name()
			}
		}
	}
	return false
}

// raises returns the name of the variable to which a loop assigns each value of a list that is greater, or "" if the
// loop does anything else.
func (f *finder) raises(s ast.Stmt, list string) string {
	loop, ok := s.(*ast.RangeStmt)
	if !ok || f.file.at(loop.X) != list || len(loop.Body.List) != 1 {
		return ""
	}
	key, ok := loop.Key.(*ast.Ident)
	value, ok2 := loop.Value.(*ast.Ident)
	n, ok3 := loop.Body.List[0].(*ast.IfStmt)
	if !ok || !ok2 || !ok3 || key.Name != "_" || loop.Tok != token.DEFINE || n.Init != nil {
		return ""
	}
	return f.raised(n, value.Name)
}

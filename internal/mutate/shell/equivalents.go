package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// What is here tells of a change that no caller can see, whatever the code is for: such a mutant is not made.

// onlyLogs tells whether statements do nothing but log: it does not matter when they are run.
func (f *finder) onlyLogs(list []ast.Stmt) bool {
	for _, s := range list {
		if !f.logs(s) {
			return false
		}
	}
	return len(list) > 0
}

// reports tells whether a statement is an if that only logs, and asks nobody for that.
func (f *finder) reports(s ast.Stmt) bool {
	n, ok := s.(*ast.IfStmt)
	return ok && n.Init == nil && n.Else == nil && f.onlyLogs(n.Body.List)
}

// equality tells whether a call compares two values: it holds either way round.
func equality(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 2 {
		return false
	}
	switch method.Sel.Name {
	case "Equal", "EqualFold", "DeepEqual":
		return true
	}
	return false
}

// options tells whether the values of a literal are options, each of which sets what is its own.
func (f *finder) options(lit *ast.CompositeLit) bool {
	list, ok := f.types.TypeOf(lit).Underlying().(*types.Slice)
	if !ok {
		return false
	}
	named, ok := types.Unalias(list.Elem()).(*types.Named)
	return ok && strings.HasSuffix(named.Obj().Name(), "Option")
}

// sentence tells whether a text that is put together is for people.
func (f *finder) sentence(e ast.Expr) bool {
	e = ast.Unparen(e)
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return f.sentence(sum.X) || f.sentence(sum.Y)
	}
	value := f.types.Types[e].Value
	return value != nil && value.Kind() == constant.String && prose(constant.StringVal(value))
}

// commute tells whether the order of two statements does not matter although both call something: they remove keys of a map, set what is not the same of one object,
// or one of them counts for a metric and the other stays in the function.
func (f *finder) commute(a, b ast.Stmt) bool {
	one, ok := call(a)
	other, ok2 := call(b)
	if ok && f.counts(one) || ok2 && f.counts(other) {
		return !f.effectsOf(a).leaves && !f.effectsOf(b).leaves
	}
	if !ok || !ok2 {
		return false
	}
	if calls(one, "delete") && calls(other, "delete") {
		return true
	}
	first, what := f.setter(one)
	second, with := f.setter(other)
	return first != "" && first == second && what != with && !strings.Contains(f.file.at(a), "Get"+with+"(") && !strings.Contains(f.file.at(b), "Get"+what+"(")
}

// call returns the call that a statement is.
func call(s ast.Stmt) (*ast.CallExpr, bool) {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil, false
	}
	c, ok := e.X.(*ast.CallExpr)
	return c, ok
}

// counts tells whether a call counts for a metric, which is read when all is over, and is told of nothing that may be another at another place.
func (f *finder) counts(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(f.packageOf(method), "/telemetry") {
		return false
	}
	for _, e := range call.Args {
		if f.types.Types[e].Value == nil {
			return false
		}
	}
	return true
}

// setter returns the object of which a call sets something, and what; or nothing.
func (f *finder) setter(call *ast.CallExpr) (object, what string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if what, ok = strings.CutPrefix(method.Sel.Name, "Set"); !ok {
		return "", ""
	}
	return f.file.at(method.X), what
}

// results finds the mutants of what a function returns. Beside an error that is there nobody looks at a result that is nothing.
func (f *finder) results(n *ast.ReturnStmt) {
	failed := len(n.Results) > 1 && f.fails(n.Results[len(n.Results)-1])
	for _, e := range n.Results {
		if !failed || !nothing(e) {
			f.inside(e)
		}
	}
}

// fails tells whether an expression is an error for sure: it is made here, or the function has just found that it is one.
func (f *finder) fails(e ast.Expr) bool {
	if !mayFail(f.types.TypeOf(e)) {
		return false
	}
	if f.failed[f.file.at(e)] {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || !f.words(call) {
		return false
	}
	method, _ := call.Fun.(*ast.SelectorExpr)
	switch method.Sel.Name {
	case "New", "Errorf":
		return true
	case "Wrap", "Wrapf":
		return f.failed[f.file.at(call.Args[0])]
	}
	return false
}

// nothing tells whether an expression is the zero value as it is written.
func nothing(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "false" || e.Name == "nil"
	case *ast.BasicLit:
		return e.Value == "0" || e.Value == `""`
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	}
	return false
}

// where runs find for what is run only where a condition holds.
func (f *finder) where(condition ast.Expr, find func()) {
	before := f.failed
	defer func() { f.failed = before }()
	f.failed = map[string]bool{}
	for e := range before {
		f.failed[e] = true
	}
	f.learn(condition)
	find()
}

// learn notes which errors are there if a condition holds.
func (f *finder) learn(condition ast.Expr) {
	n, ok := ast.Unparen(condition).(*ast.BinaryExpr)
	switch {
	case !ok:
	case n.Op == token.LAND:
		f.learn(n.X)
		f.learn(n.Y)
	case n.Op == token.NEQ && f.file.at(n.Y) == "nil":
		f.failed[f.file.at(n.X)] = true
	}
}

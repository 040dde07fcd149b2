package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// What is here tells whether something can be asked for at another place: nobody notices, and it does not panic there.

// harmless tells whether a condition can be asked for whatever else holds: it calls nothing, it follows no pointer
// but that of the receiver, and what it looks up by an index is there, because it asks for the length first.
func (f *finder) harmless(condition ast.Expr) bool {
	long := map[string]int64{} // what is that long at least
	for _, e := range conjuncts(condition) {
		if !f.steady(e, long) {
			return false
		}
		n, ok := e.(*ast.BinaryExpr)
		if !ok || n.Op != token.GTR {
			continue
		}
		if size, ok := n.X.(*ast.CallExpr); ok && calls(size, "len") {
			if least, ok := f.number(n.Y); ok {
				long[f.file.at(size.Args[0])] = least + 1
			}
		}
	}
	return true
}

// steady tells whether a condition cannot panic and has no effect where texts and slices are so long at least.
func (f *finder) steady(condition ast.Expr, long map[string]int64) bool {
	ok := true
	ast.Inspect(condition, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			ok = ok && (calls(n, "len") || calls(n, "cap"))
		case *ast.IndexExpr:
			i, known := f.number(n.Index)
			_, array := f.types.TypeOf(n.X).Underlying().(*types.Pointer)
			ok = ok && known && !array && i < long[f.file.at(n.X)]
		case *ast.SelectorExpr:
			if s := f.types.Selections[n]; s != nil {
				ok = ok && s.Kind() == types.FieldVal && (!s.Indirect() || len(s.Index()) == 1 && f.receiver(n.X))
			}
		case *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit, *ast.CompositeLit, *ast.UnaryExpr,
			*ast.BinaryExpr:
			ok = ok && f.plain(n)
		}
		return ok
	})
	return ok
}

// plain tells whether an operation cannot panic: it is not, or a comparison of what can always be compared, or a sum.
func (f *finder) plain(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		return n.Op == token.NOT || n.Op == token.SUB
	case *ast.BinaryExpr:
		switch n.Op { //nolint:exhaustive // of no other it is known
		case token.LAND, token.LOR, token.LSS, token.LEQ, token.GTR, token.GEQ, token.ADD, token.SUB:
			return true
		case token.EQL, token.NEQ:
			if f.file.at(n.Y) == "nil" {
				return true
			}
			switch f.types.TypeOf(n.X).Underlying().(type) {
			case *types.Basic, *types.Pointer:
				return !types.IsInterface(f.types.TypeOf(n.Y))
			}
		}
	}
	return false
}

// receiver tells whether an expression is the receiver, of which the method does not ask whether it is there.
func (f *finder) receiver(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	if !ok || f.fn.Recv == nil || f.types.Uses[name] == nil {
		return false
	}
	if at := f.types.Uses[name].Pos(); at < f.fn.Recv.Pos() || at >= f.fn.Recv.End() {
		return false
	}
	return !f.asksFor(f.fn.Body)[name.Name]
}

// number returns the constant that an expression is.
func (f *finder) number(e ast.Expr) (int64, bool) {
	value := f.types.Types[e].Value
	if value == nil || value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value)
}

// answers tells whether an expression is only asked for: what it calls are functions that have a name and cannot fail.
func (f *finder) answers(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			ok = ok && (f.function(n) != nil || f.ofTime(n) || f.types.Types[n.Fun].IsType() ||
				f.types.Types[n.Fun].IsBuiltin()) && !mayFail(f.types.TypeOf(n))
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		}
		return ok
	})
	return ok
}

// ofTime tells whether a call asks a time for something: a method that is given a copy of the time changes nothing.
func (f *finder) ofTime(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.types.Selections[method] == nil || f.packageOf(method) != "time" {
		return false
	}
	fn, ok := f.types.Selections[method].Obj().(*types.Func)
	if !ok {
		return false
	}
	named, ok := types.Unalias(fn.Signature().Recv().Type()).(*types.Named)
	return ok && named.Obj().Name() == "Time"
}

// function returns the function of a package that a call calls.
func (f *finder) function(call *ast.CallExpr) *types.Func {
	name, ok := call.Fun.(*ast.Ident)
	if s, selects := call.Fun.(*ast.SelectorExpr); selects && f.types.Selections[s] == nil {
		name, ok = s.Sel, true
	}
	if !ok {
		return nil
	}
	fn, _ := f.types.Uses[name].(*types.Func)
	return fn
}

// asksFor returns of what something asks whether it is there, or how long it is.
func (f *finder) asksFor(n ast.Node) map[string]bool {
	asked := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if f.file.at(n.Y) == "nil" {
				asked[f.file.at(n.X)] = true
			}
			if f.file.at(n.X) == "nil" {
				asked[f.file.at(n.Y)] = true
			}
		case *ast.CallExpr:
			if calls(n, "len") {
				asked[f.file.at(n.Args[0])] = true
			}
		}
		return true
	})
	return asked
}

// guards tells whether a statement must not be run where an if leaves, because it follows a pointer that is not there
// then, or looks up what is not.
func (f *finder) guards(guard, s ast.Stmt) (found bool) {
	n, ok := guard.(*ast.IfStmt)
	if !ok {
		return false
	}
	asked, again := f.asksFor(n.Cond), f.asksFor(s)
	needs := func(e ast.Expr) { found = found || asked[f.file.at(e)] && !again[f.file.at(e)] }
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			needs(n.X)
		case *ast.StarExpr:
			needs(n.X)
		case *ast.IndexExpr:
			if _, isMap := f.types.TypeOf(n.X).Underlying().(*types.Map); !isMap {
				needs(n.X)
			}
		case *ast.SliceExpr:
			needs(n.X)
		}
		return !found
	})
	return found
}

// free tells whether an expression can be asked for any number of times: nothing is called, and nothing is looked up
// that may not be there.
func free(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || !calls(n, "len") && !calls(n, "cap")
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.BinaryExpr:
			found = found || n.Op == token.QUO || n.Op == token.REM
		}
		return !found
	})
	return !found
}

// named tells whether an expression is a variable of a package, as errors are that are compared with.
func (f *finder) named(e ast.Expr) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		e = s.Sel
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := f.types.Uses[id].(*types.Var)
	return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// fallible tells whether expressions call something that may fail.
func (f *finder) fallible(list ...ast.Expr) (found bool) {
	for _, e := range list {
		ast.Inspect(e, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			found = found || ok && mayFail(f.types.TypeOf(call))
			return !found
		})
	}
	return found
}

// computes tells whether a call that may fail asks nobody, and can be made at any time: it is one of the standard
// library that makes something of its arguments.
func (f *finder) computes(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.types.Selections[method] != nil ||
		slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return !f.there(e) }) {
		return false
	}
	switch f.packageOf(method) {
	case "strconv", "net/url", "encoding/hex", "crypto/pbkdf2", "crypto/hkdf":
		return true
	case "k8s.io/apimachinery/pkg/util/resourceversion":
		return method.Sel.Name == "CompareResourceVersion"
	case "encoding/json":
		return method.Sel.Name == "Marshal"
	case "time":
		return strings.HasPrefix(method.Sel.Name, "Parse")
	}
	return false
}

// there tells whether an expression has a value whatever else holds: it follows no pointer but the receiver, and
// looks nothing up.
func (f *finder) there(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			method, selects := n.Fun.(*ast.SelectorExpr)
			ok = ok && (f.types.Types[n.Fun].IsType() || calls(n, "len") || selects && f.receiver(method.X))
		case *ast.SelectorExpr:
			if s := f.types.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				ok = ok && (!s.Indirect() || len(s.Index()) == 1 && f.receiver(n.X))
			}
		case *ast.SliceExpr:
			_, array := f.types.TypeOf(n.X).Underlying().(*types.Pointer)
			ok = ok && n.Low == nil && n.High == nil && !array
		case *ast.IndexExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.BinaryExpr:
			ok = ok && n.Op != token.QUO && n.Op != token.REM
		}
		return ok
	})
	return ok
}

// mayFail tells whether a call returns an error: such calls ask somebody.
func mayFail(t types.Type) bool {
	if tuple, ok := t.(*types.Tuple); ok {
		for v := range tuple.Variables() {
			if mayFail(v.Type()) {
				return true
			}
		}
		return false
	}
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

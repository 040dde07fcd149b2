package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The functions of this file find out whether an expression can be evaluated at another place. It can if it has no
// effect and does not panic there.

// harmless returns whether a condition can be evaluated in any state. It calls nothing, and follows no pointer except
// the receiver. Every index is in range, because the condition compares the length first.
func (f *finder) harmless(condition ast.Expr) bool {
	long := map[string]int64{} // the least length of each expression
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

// steady returns whether a condition has no effect and cannot panic if strings and slices have at least the given
// lengths.
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

// plain returns whether an operation cannot panic. It is a negation, a comparison of values that are always comparable,
// or a sum.
func (f *finder) plain(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		return n.Op == token.NOT || n.Op == token.SUB
	case *ast.BinaryExpr:
		switch n.Op { //nolint:exhaustive // the others may panic
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

// receiver reports whether an expression is the receiver, and the method does not compare the receiver with nil.
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

// number returns the value of an expression that is a constant integer.
func (f *finder) number(e ast.Expr) (int64, bool) {
	value := f.types.Types[e].Value
	if value == nil || value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value)
}

// answers returns whether an expression only computes a value: it calls only named functions that cannot fail.
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

// ofTime returns whether a call calls a method of time.Time. Such a method gets a copy of the time and changes nothing.
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

// asksFor returns the expressions that a node compares with nil, or whose length it takes.
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

// guards reports whether a statement must not run where an if leaves, because it would follow a nil pointer there,
// or use an index that is out of range.
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

// free returns whether an expression can be evaluated any number of times: it calls nothing, and reads no element that
// may be missing.
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

// named returns whether an expression is a package variable, such as a sentinel error.
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

// fallible reports whether any of the expressions has a call that may fail.
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

// computes returns whether a call that may fail can be made at any time, because the library function only transforms
// its arguments.
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

// there returns whether an expression has a value in any state: it follows no pointer except the receiver, and reads no
// element.
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

// mayFail reports whether a type is error, or has error among its results: calls of such functions may reach other
// systems.
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

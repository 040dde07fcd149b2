package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// logs tells whether a node is a call of a logger, or a statement that is nothing else: no promise rests on what is logged.
func (f *finder) logs(n ast.Node) bool {
	if s, ok := n.(*ast.ExprStmt); ok {
		n = s.X
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if f.types.Selections[method] == nil {
		return strings.HasSuffix(f.packageOf(method), "/logging")
	}
	t := types.Unalias(f.types.Selections[method].Recv())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Logger"
}

// calls tells whether a call is one of this function.
func calls(call *ast.CallExpr, function string) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == function
}

// words tells whether a call makes the text of an error, which no test compares by its letters.
func (f *finder) words(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	path := f.packageOf(method)
	return path == "errors" || strings.HasSuffix(path, "/errors") || path == "fmt" && method.Sel.Name == "Errorf"
}

// packageOf returns the path of the package that a function or a method is of.
func (f *finder) packageOf(called *ast.SelectorExpr) string {
	if used, ok := f.types.Uses[called.Sel].(*types.Func); ok && used.Pkg() != nil {
		return used.Pkg().Path()
	}
	return ""
}

// interact tells whether the order of two statements can matter: one may leave and the other has an effect or may leave as well, both call something that may have
// an effect, or one reads what the other assigns. Others are equivalent in either order.
func (f *finder) interact(a, b ast.Stmt) bool {
	if f.logs(a) || f.logs(b) || f.reports(a) || f.reports(b) || ends(b) || ends(a) || f.commute(a, b) {
		return false
	}
	if declares(a, b, f.file) || defines(a) || defines(b) {
		return false // it would not compile, or a function runs later
	}
	one, other := f.effectsOf(a), f.effectsOf(b)
	if one.deferred != other.deferred {
		return one.leaves || other.leaves // what is deferred runs later than either
	}
	switch {
	case one.leaves && (other.leaves || other.calls || other.outlives || f.whole(a, other.own)):
		return true
	case other.leaves && (one.calls || one.outlives || f.whole(b, one.own)):
		return true
	case one.calls && other.calls:
		return true
	}
	return mentions(f.file.at(b), one.assigns) || mentions(f.file.at(a), other.assigns)
}

// ends tells whether nothing after a statement is run: in its place nothing is exchanged but what is removed as well.
func ends(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// declares tells whether the second statement names a variable that the first declares.
func declares(a, b ast.Stmt, f *file) bool {
	assign, ok := a.(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE {
		_, isDecl := a.(*ast.DeclStmt)
		return isDecl
	}
	names := map[string]bool{}
	for _, e := range assign.Lhs {
		names[f.at(e)] = true
	}
	delete(names, "_")
	used := false
	ast.Inspect(b, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		used = used || ok && names[id.Name]
		return !used
	})
	return used
}

// defines tells whether a statement gives a function a name: its body runs later.
func defines(s ast.Stmt) bool {
	assign, ok := s.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return false
	}
	_, ok = assign.Rhs[0].(*ast.FuncLit)
	return ok
}

// discards tells whether an assignment has no effect: it names a variable so that the compiler misses no use of it.
func discards(s *ast.AssignStmt) bool {
	for _, e := range s.Lhs {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return !slices.ContainsFunc(s.Rhs, func(e ast.Expr) bool { _, ok := e.(*ast.CallExpr); return ok })
}

// effects are what a statement may do besides computing.
type effects struct {
	leaves   bool     // it returns, breaks or continues
	deferred bool     // it is a defer
	calls    bool     // a call for its effect, or one that may fail
	assigns  []string // to what is not declared in it
	outlives bool     // what it assigns to is there when the function has returned
	own      []string // parameters that it assigns to, or to fields of: see parameter
}

func (f *finder) effectsOf(s ast.Stmt) (e effects) {
	_, e.deferred = s.(*ast.DeferStmt)
	assign := func(to ast.Expr) {
		if text := f.file.at(to); text != "_" {
			e.assigns = append(e.assigns, text)
			if name, ok := f.parameter(to); ok {
				e.own = append(e.own, name)
			} else {
				e.outlives = e.outlives || f.outlives(to)
			}
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.BranchStmt:
			e.leaves = true
		case *ast.ExprStmt:
			e.calls = e.calls || !f.logs(n)
			return !f.logs(n)
		case *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
			e.calls = true
		case *ast.CallExpr:
			e.calls = e.calls || mayFail(f.types.TypeOf(n))
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if n.Tok != token.DEFINE {
					assign(lhs)
				}
			}
		case *ast.IncDecStmt:
			assign(n.X)
		}
		return true
	})
	return e
}

// outlives tells whether a variable is not one of the function's own.
func (f *finder) outlives(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			v := f.types.Uses[x]
			return v == nil || v.Pos() < f.fn.Body.Lbrace || v.Pos() > f.fn.Body.Rbrace
		default:
			return true
		}
	}
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

// mentions tells whether a text has one of these expressions in it, and not as a part of a longer name.
func mentions(text string, assigned []string) bool {
	for _, a := range assigned {
		for from := 0; ; {
			i := strings.Index(text[from:], a)
			if i < 0 {
				break
			}
			i += from
			if !joined(text[:i], a) && !joined(text[:i+len(a)], text[i+len(a):]) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

// joined tells whether a name goes on from the end of one text to the beginning of the next.
func joined(one, next string) bool {
	last, _ := utf8.DecodeLastRuneInString(one)
	first, _ := utf8.DecodeRuneInString(next)
	return partOfName(last) && partOfName(first)
}

func partOfName(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

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

// logs returns whether a node is a call of a logger, or a statement that only makes such a call. No guarantee depends
// on log lines.
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

// calls reports whether a call is one of this function.
func calls(call *ast.CallExpr, function string) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == function
}

// words returns whether a call creates the text of an error. Tests do not compare these texts.
func (f *finder) words(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	path := f.packageOf(method)
	return path == "errors" || strings.HasSuffix(path, "/errors") || path == "fmt" && method.Sel.Name == "Errorf"
}

// packageOf returns the path of the package that declares a function or a method.
func (f *finder) packageOf(called *ast.SelectorExpr) string {
	if used, ok := f.types.Uses[called.Sel].(*types.Func); ok && used.Pkg() != nil {
		return used.Pkg().Path()
	}
	return ""
}

// interact returns whether the order of two statements can matter. It does in three cases: one may leave the function
// and the other has an effect or may leave as well; both make calls that may have an effect; or one reads a variable
// that the other assigns. Otherwise the two orders are equivalent.
func (f *finder) interact(a, b ast.Stmt) bool {
	f.pair = b.End()
	defer func() { f.pair = token.NoPos }()
	if f.logs(a) || f.logs(b) || f.reports(a) || f.reports(b) || ends(b) || ends(a) || f.commute(a, b) ||
		f.either(a, b) || f.leavesIfEmpty(a, b) || f.leavesIfEmpty(b, a) || f.sorts(a, b) || f.sorts(b, a) ||
		f.looksUp(a, b) || f.looksUp(b, a) {
		return false
	}
	if declares(a, b, f.file) || defines(a) || defines(b) {
		return false // most would not compile, or a function runs later
	}
	one, other := f.effectsOf(a), f.effectsOf(b)
	if one.deferred != other.deferred {
		return one.leaves || other.leaves // a deferred call runs later than either
	}
	switch {
	case one.leaves && (other.leaves || other.calls || other.outlives || f.whole(a, other.own)):
		return true
	case other.leaves && (one.calls || one.outlives || f.whole(b, one.own)):
		return true
	case one.leaves && f.guards(a, b):
		return true
	case one.calls && other.calls, one.stays && len(other.assigns) > 0, other.stays && len(one.assigns) > 0:
		return true
	}
	return mentions(f.file.at(b), one.assigns) || mentions(f.file.at(a), other.assigns)
}

// ends returns whether no statement after this one is run. To exchange such a statement with the one before is to
// remove the one before.
func ends(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// declares reports whether the second statement names a variable that the first declares.
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

// defines reports whether a statement assigns a function literal to a variable: its body runs later.
func defines(s ast.Stmt) bool {
	assign, ok := s.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return false
	}
	_, ok = assign.Rhs[0].(*ast.FuncLit)
	return ok
}

// discards reports whether an assignment has no effect: it only counts as a use of a variable for the compiler.
func discards(s *ast.AssignStmt) bool {
	for _, e := range s.Lhs {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return !slices.ContainsFunc(s.Rhs, func(e ast.Expr) bool { _, ok := e.(*ast.CallExpr); return ok })
}

// effects are the possible effects of a statement.
type effects struct {
	leaves   bool     // it returns, breaks or continues
	stays    bool     // it breaks or continues: the function goes on
	deferred bool     // it is a defer
	calls    bool     // a call for its effect, or one that may fail
	assigns  []string // variables and parts of them, those that it declares excepted
	outlives bool     // it assigns to something that outlives the call of the function
	own      []string // variables that it assigns to, or to parts of, and that do not outlive the call
}

func (f *finder) effectsOf(s ast.Stmt) (e effects) {
	_, e.deferred = s.(*ast.DeferStmt)
	e.stays = branches(s, false, false)
	e.leaves = e.stays
	assign := func(to ast.Expr) {
		if name, ok := to.(*ast.Ident); ok && (name.Name == "_" || f.within(name, s)) {
			return
		}
		e.assigns = append(e.assigns, f.file.at(to))
		name, ok := f.copied(to)
		if ok || !f.outlives(to) {
			e.own = append(e.own, name)
		} else {
			e.outlives = true
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			e.leaves = true
		case *ast.ExprStmt:
			e.calls = e.calls || !f.logs(n)
			return !f.logs(n)
		case *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
			e.calls = true
		case *ast.CallExpr:
			e.calls = e.calls || mayFail(f.types.TypeOf(n)) && !f.computes(n)
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if n.Tok != token.DEFINE || f.declared(lhs) {
					assign(lhs)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				assign(n.Key)
				if n.Value != nil {
					assign(n.Value)
				}
			}
		case *ast.IncDecStmt:
			assign(n.X)
		}
		return true
	})
	return e
}

// branches reports whether a statement breaks or continues a statement around it. With breaks or continues set, a
// plain break or continue belongs to a statement inside.
func branches(n ast.Node, breaks, continues bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			if !breaks || !continues {
				found = found || branches(n, true, true)
				return false
			}
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if !breaks {
				found = found || branches(n, true, continues)
				return false
			}
		case *ast.BranchStmt:
			within := n.Tok == token.CONTINUE && continues ||
				(n.Tok == token.BREAK || n.Tok == token.FALLTHROUGH) && breaks
			found = found || n.Label != nil || !within
		}
		return !found
	})
	return found
}

// declared reports whether an expression on the left of := is an existing variable: it is assigned to, and not
// declared.
func (f *finder) declared(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && f.types.Uses[name] != nil
}

// within reports whether a name is that of a variable that the statement declares.
func (f *finder) within(name *ast.Ident, s ast.Stmt) bool {
	v := f.types.Uses[name]
	return v != nil && v.Pos() >= s.Pos() && v.Pos() < s.End()
}

// outlives returns whether the target of an assignment exists after the call of the function. It does if it is not a
// local variable, or if a function literal or a pointer may refer to it. It also does if the path to it has a pointer,
// a map or a slice that the function has not created for itself.
func (f *finder) outlives(e ast.Expr) bool {
	led, first := 0, false // how many of these are on the path, and whether the first step is one
	for {
		step := false
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			s := f.types.Selections[x]
			step, e = s != nil && s.Indirect(), x.X
		case *ast.IndexExpr:
			_, array := f.types.TypeOf(x.X).Underlying().(*types.Array)
			step, e = !array, x.X
		case *ast.StarExpr:
			step, e = true, x.X
		case *ast.Ident:
			v := f.types.Uses[x]
			if v == nil || v.Pos() < f.fn.Body.Lbrace || v.Pos() > f.fn.Body.Rbrace || f.captured(x.Name) {
				return true
			}
			return led > 0 && (led > 1 || !first || !f.makes(v))
		default:
			return true
		}
		if first = step; step {
			led++
		}
	}
}

// makes returns whether a local variable holds a value that the function has created and does not share. The variable
// is declared with a literal, make or new. The function otherwise only selects from it, indexes it, ranges over it,
// takes its length or returns it.
func (f *finder) makes(v types.Object) bool {
	made, leaks := false, false
	asked := map[*ast.Ident]bool{}
	ask := func(list ...ast.Expr) {
		for _, e := range list {
			if name, ok := e.(*ast.Ident); ok {
				asked[name] = true
			}
		}
	}
	ast.Inspect(f.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) == 1 && len(n.Rhs) == 1 && n.Lhs[0].Pos() == v.Pos() {
				made = f.fresh(n.Rhs[0])
			}
		case *ast.SelectorExpr:
			if s := f.types.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				ask(n.X)
			}
		case *ast.IndexExpr:
			ask(n.X)
		case *ast.RangeStmt:
			ask(n.X)
		case *ast.CallExpr:
			if calls(n, "len") {
				ask(n.Args...)
			}
		case *ast.ReturnStmt:
			ask(n.Results...)
		case *ast.Ident:
			leaks = leaks || f.types.Uses[n] == v && !asked[n]
		}
		return true
	})
	return made && !leaks
}

// fresh reports whether an expression makes a value to which there is no other reference.
func (f *finder) fresh(e ast.Expr) bool {
	e = ast.Unparen(e)
	if address, ok := e.(*ast.UnaryExpr); ok && address.Op == token.AND {
		e = address.X
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return calls(e, "make") || calls(e, "new")
	}
	return false
}

// mentions reports whether a text contains one of the expressions, not as a part of a longer name.
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

// joined reports whether a name continues from the end of one text to the beginning of the next.
func joined(one, next string) bool {
	last, _ := utf8.DecodeLastRuneInString(one)
	first, _ := utf8.DecodeRuneInString(next)
	return partOfName(last) && partOfName(first)
}

func partOfName(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

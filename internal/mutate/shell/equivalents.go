package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// The functions of this file find changes that no caller can notice. Such mutants are not made.

// onlyLogs returns whether statements only log. The time at which they run does not matter.
func (f *finder) onlyLogs(list []ast.Stmt) bool {
	for _, s := range list {
		if !f.logs(s) {
			return false
		}
	}
	return len(list) > 0
}

// reports reports whether a statement is an if that only logs, without an initialization or an else.
func (f *finder) reports(s ast.Stmt) bool {
	n, ok := s.(*ast.IfStmt)
	return ok && n.Init == nil && n.Else == nil && f.onlyLogs(n.Body.List)
}

// equality reports whether a call compares two values: it is the same with its arguments exchanged.
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

// says returns whether a call formats a sentence for readers. Tests do not compare such sentences, nor the texts of
// errors (see words).
func (f *finder) says(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.packageOf(method) != "fmt" || method.Sel.Name != "Sprintf" {
		return false
	}
	value := f.types.Types[call.Args[0]].Value
	return value != nil && value.Kind() == constant.String && strings.Contains(constant.StringVal(value), " ") &&
		word.MatchString(verb.ReplaceAllString(constant.StringVal(value), ""))
}

// verb matches a formatting verb, and word a word. A text with a word besides its verbs is a sentence.
var verb, word = regexp.MustCompile(`%[^a-zA-Z%]*[a-zA-Z%]`), regexp.MustCompile(`\pL\pL`)

// ordered returns the arguments of a call whose order may matter. The order of keys that a function removes does not
// matter.
func (f *finder) ordered(call *ast.CallExpr) []ast.Expr {
	fn := f.function(call)
	if fn == nil || !strings.HasPrefix(fn.Name(), "Remove") || !fn.Signature().Variadic() || call.Ellipsis.IsValid() {
		return call.Args
	}
	last := fn.Signature().Params().Len() - 1
	key, ok := fn.Signature().Params().At(last).Type().(*types.Slice).Elem().Underlying().(*types.Basic)
	if !ok || key.Info()&types.IsString == 0 {
		return call.Args
	}
	return call.Args[:last]
}

// duration reports whether a number is a time.Duration.
func (f *finder) duration(e ast.Expr) bool {
	named, ok := types.Unalias(f.types.TypeOf(e)).(*types.Named)
	return ok && named.Obj().Name() == "Duration" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}

// options reports whether the values of a literal are options, each of which sets a field of its own.
func (f *finder) options(lit *ast.CompositeLit) bool {
	list, ok := f.types.TypeOf(lit).Underlying().(*types.Slice)
	if !ok {
		return false
	}
	named, ok := types.Unalias(list.Elem()).(*types.Named)
	return ok && strings.HasSuffix(named.Obj().Name(), "Option")
}

// sentence reports whether a concatenated text is a sentence for readers.
func (f *finder) sentence(e ast.Expr) bool {
	e = ast.Unparen(e)
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return f.sentence(sum.X) || f.sentence(sum.Y)
	}
	value := f.types.Types[e].Value
	return value != nil && value.Kind() == constant.String && prose(constant.StringVal(value))
}

// commute returns whether the order of two statements does not matter although both make calls. There are four cases:
// they remove keys of a map; they set different fields of one object; they pass values to a function that keeps the
// greatest; or one counts for a metric and the other does not leave the function.
func (f *finder) commute(a, b ast.Stmt) bool {
	if f.greatest(a, b) {
		return true
	}
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
	return first != "" && first == second && what != with && !strings.Contains(f.file.at(a), "Get"+with+"(") &&
		!strings.Contains(f.file.at(b), "Get"+what+"(")
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

// counts reports whether a call counts for a metric, which is read at the end, and all its arguments are constants,
// which are the same at another place.
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

// setter returns the object of which a call sets a field, and the name of the field, or empty strings.
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

// results finds the mutants of a return statement. Beside a non-nil error, a zero result is not changed: no caller
// reads it.
func (f *finder) results(n *ast.ReturnStmt) {
	failed := len(n.Results) > 1 && f.fails(n.Results[len(n.Results)-1])
	for _, e := range n.Results {
		if !failed || !nothing(e) {
			f.inside(e)
		}
	}
}

// fails returns whether an expression is certainly a non-nil error. Either it is created here, or a condition around it
// has checked that it is not nil.
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

// nothing reports whether an expression is written as a zero value.
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

// where calls find for statements that run only if a condition holds.
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

// learn records which errors are not nil if a condition holds.
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

// copied returns the name of the variable that an expression is, or is a part of, and whether that is a parameter or
// a result of the function that is a copy: after the function has returned something else, an assignment to it has
// no effect. It is no copy if a pointer leads to the part or a function literal names it.
func (f *finder) copied(e ast.Expr) (name string, ok bool) {
	within := func(v types.Object, list *ast.FieldList) bool {
		return list != nil && v != nil && v.Pos() >= list.Pos() && v.Pos() < list.End()
	}
	for direct := true; ; {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			s := f.types.Selections[x]
			direct = direct && s != nil && s.Kind() == types.FieldVal && !s.Indirect()
			e = x.X
		case *ast.IndexExpr:
			direct, e = false, x.X
		case *ast.StarExpr:
			direct, e = false, x.X
		case *ast.Ident:
			v := f.types.Uses[x]
			own := within(v, f.fn.Type.Params) || within(v, f.fn.Recv) || within(v, f.fn.Type.Results) && !f.recovers()
			return x.Name, direct && own && !f.captured(x.Name)
		default:
			return "", false
		}
	}
}

// recovers reports whether the function returns its results as they are when it panics.
func (f *finder) recovers() bool { return mentions(f.file.at(f.fn.Body), []string{"recover"}) }

// captured reports whether a variable may be used longer than its function runs: a function literal names it, or its
// address is taken, as a call of a method may do. References that are made only after the last run of the pair of
// statements do not count.
func (f *finder) captured(name string) (found bool) {
	last := f.fn.Body.End()
	if f.pair.IsValid() && !f.inLoop(f.pair) {
		last = f.pair
	}
	ast.Inspect(f.fn.Body, func(n ast.Node) bool {
		if n != nil && n.Pos() >= last {
			return false
		}
		keeps := false
		switch n := n.(type) {
		case *ast.FuncLit, *ast.SliceExpr:
			keeps = true
		case *ast.UnaryExpr:
			keeps = n.Op == token.AND
		case *ast.SelectorExpr:
			s := f.types.Selections[n]
			keeps = s != nil && s.Kind() != types.FieldVal && !onCopy(s)
		}
		found = found || keeps && mentions(f.file.at(n), []string{name})
		return !found
	})
	return found
}

// onCopy reports whether the receiver of a method is a copy.
func onCopy(s *types.Selection) bool {
	fn, ok := s.Obj().(*types.Func)
	if !ok || fn.Signature().Recv() == nil || types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	_, pointer := types.Unalias(fn.Signature().Recv().Type()).(*types.Pointer)
	return !pointer
}

// inLoop reports whether the statement that ends at a place may run more than once: it is in a loop, in a function
// literal, or in a function with labels.
func (f *finder) inLoop(end token.Pos) (found bool) {
	ast.Inspect(f.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			found = found || n.Pos() < end && n.End() >= end
		case *ast.LabeledStmt:
			found = true
		}
		return !found
	})
	return found
}

// whole reports whether a statement uses one of the variables itself, and not only fields of it, or returns it as a
// named result.
func (f *finder) whole(s ast.Stmt, names []string) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if selected := f.types.Selections[n]; selected != nil && selected.Kind() == types.FieldVal {
				_, named := n.X.(*ast.Ident)
				return !named
			}
		case *ast.ReturnStmt:
			found = found || len(n.Results) == 0 && f.fn.Type.Results != nil &&
				mentions(f.file.at(f.fn.Type.Results), names)
		case *ast.Ident:
			found = found || slices.Contains(names, n.Name)
		}
		return !found
	})
	return found
}

// exclusive reports whether two cases cannot both hold, or do the same if they do: see apart and cross. No clause
// may fall through.
func (f *finder) exclusive(a, b *ast.CaseClause, all *ast.BlockStmt) bool {
	falls := false
	for _, clause := range all.List {
		for _, s := range clause.(*ast.CaseClause).Body {
			branch, ok := s.(*ast.BranchStmt)
			falls = falls || ok && branch.Tok == token.FALLTHROUGH
		}
	}
	if falls || len(a.List) != 1 || len(b.List) != 1 {
		return false
	}
	return f.apart(a.List[0], b.List[0]) || f.cross(a.List[0], b.List[0], a.Body, b.Body)
}

// exclude reports whether the second condition does not hold where the first does, and the order in which the two
// are evaluated does not matter.
func (f *finder) exclude(a, b ast.Expr) bool {
	_, asks := b.(*ast.CallExpr) // see contradict
	return f.contradict(a, b) && free(a) && (asks || free(b))
}

// contradict reports whether the second condition does not hold where the first does.
func (f *finder) contradict(a, b ast.Expr) bool {
	if not, ok := b.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		return f.file.at(ast.Unparen(not.X)) == f.file.at(a)
	}
	one, ok := a.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	switch other := b.(type) {
	case *ast.BinaryExpr:
		if f.file.at(one.X) != f.file.at(other.X) {
			return false
		}
		x, y := f.types.Types[one.Y].Value, f.types.Types[other.Y].Value
		return other.Op == flipped[one.Op] && f.file.at(one.Y) == f.file.at(other.Y) ||
			one.Op == token.EQL && other.Op == token.EQL && x != nil && y != nil && x.Kind() == y.Kind() &&
				constant.Compare(x, token.NEQ, y)
	case *ast.CallExpr: // no error is none of those that have a name
		method, ok := other.Fun.(*ast.SelectorExpr)
		return ok && f.words(other) && method.Sel.Name == "Is" && len(other.Args) == 2 && f.named(other.Args[1]) &&
			one.Op == token.EQL && f.file.at(one.Y) == "nil" && f.file.at(one.X) == f.file.at(other.Args[0])
	}
	return false
}

// contained returns the list in which a call looks for a value: its order does not matter, because evaluating its
// elements has no effect.
func (f *finder) contained(call *ast.CallExpr) *ast.CompositeLit {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Contains" || f.packageOf(method) != "slices" {
		return nil
	}
	lit, ok := call.Args[0].(*ast.CompositeLit)
	if !ok || slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool { return !free(e) }) {
		return nil
	}
	return lit
}

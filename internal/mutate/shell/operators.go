package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"time"
)

type typed = *types.Info

// block finds the mutants of a list of statements, and of everything in it.
func (f *finder) block(list []ast.Stmt) {
	for i, stmt := range list {
		f.reach = f.file.offset(stmt.Pos())
		f.statement(stmt)
		if i > 0 && f.interact(list[i-1], stmt) {
			f.reach = f.file.offset(list[i-1].Pos())
			f.exchange("the statements", list[i-1], stmt)
			f.reach = f.file.offset(stmt.Pos())
		}
		f.inside(stmt)
	}
}

// inside finds the mutants in a statement: in its expressions, and in its blocks, which set anew where a mutant is
// reached.
func (f *finder) inside(stmt ast.Node) {
	if f.logs(stmt) {
		return
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		reach := f.reach
		defer func() { f.reach = reach }()
		switch n := n.(type) {
		case *ast.BlockStmt:
			if hasClauses(n) {
				return true
			}
			f.block(n.List)
			return false
		case *ast.IfStmt:
			f.branch(n)
			return false
		case *ast.ReturnStmt:
			f.results(n)
			return false
		case *ast.CaseClause:
			f.clause(n)
			return false
		case *ast.CommClause:
			if n.Comm != nil {
				f.inside(n.Comm)
			}
			f.block(n.Body)
			return false
		case ast.Expr:
			f.expression(n)
			return !f.logs(n) && !f.opaque(n)
		}
		f.conditions(n)
		return true
	})
}

// branch finds the mutants of an if, but not of its condition if only log lines depend on it.
func (f *finder) branch(n *ast.IfStmt) {
	if n.Init != nil {
		f.inside(n.Init)
	}
	if n.Else == nil && f.onlyLogs(n.Body.List) {
		return
	}
	reach := f.reach
	f.negate(n.Cond)
	f.inside(n.Cond)
	f.where(n.Cond, func() { f.block(n.Body.List) })
	f.reach = reach
	if n.Else != nil {
		f.inside(n.Else)
	}
}

// clause finds the mutants of a case.
func (f *finder) clause(n *ast.CaseClause) {
	for _, e := range n.List {
		f.inside(e)
	}
	if len(n.List) != 1 {
		f.block(n.Body)
		return
	}
	f.where(n.List[0], func() { f.block(n.Body) })
}

// hasClauses reports whether a block is that of a switch or of a select, which holds clauses and no statements.
func hasClauses(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[0].(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// conditions negates the conditions of loops and cases, and exchanges neighboring cases of a switch in which the
// first that holds wins.
func (f *finder) conditions(n ast.Node) {
	switch n := n.(type) {
	case *ast.RangeStmt:
		if lit, ok := n.X.(*ast.CompositeLit); ok && f.whichever(n) {
			f.unordered[lit] = true
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return
		}
		var last *ast.CaseClause
		for _, stmt := range n.Body.List {
			c := stmt.(*ast.CaseClause)
			for _, e := range c.List {
				f.negate(e)
			}
			if last != nil && c.List != nil && !f.exclusive(last, c, n.Body) {
				f.add(fmt.Sprintf("exchange the cases %s and %s", f.quote(last.List[0]), f.quote(c.List[0])),
					f.replace(last, f.file.at(c)), f.replace(c, f.file.at(last)))
			}
			if last = c; c.List == nil {
				last = nil
			}
		}
	}
}

// negate adds the mutant with the opposite condition.
func (f *finder) negate(e ast.Expr) {
	text := "!(" + f.file.at(e) + ")"
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			text = f.file.at(x.X)
		}
	case *ast.BinaryExpr:
		if op, ok := flipped[x.Op]; ok {
			text = f.file.at(x.X) + " " + op.String() + " " + f.file.at(x.Y)
		}
	}
	f.add("negate "+f.quote(e), f.replace(e, text))
}

// statement removes a call or an assignment.
func (f *finder) statement(stmt ast.Stmt) {
	remove := func(what string) { f.add("remove "+what+" "+f.quote(stmt), f.replace(stmt, "")) }
	switch s := stmt.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && !f.logs(s) && !calls(call, "panic") {
			remove("the call")
		}
	case *ast.DeferStmt, *ast.GoStmt:
		remove("the call")
	case *ast.SendStmt:
		remove("the send")
	case *ast.IncDecStmt:
		remove("the assignment")
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE && !discards(s) {
			remove("the assignment")
		}
	}
}

// expression finds the mutants of one expression, but not those of its parts.
func (f *finder) expression(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.operands(e)
	case *ast.CallExpr:
		if lit := f.contained(e); lit != nil {
			f.unordered[lit] = true
		}
		if !f.words(e) && !f.says(e) && !calls(e, "min") && !calls(e, "max") && !equality(e) && !f.symmetric(e) &&
			!f.takesGreatest(e) && !f.logs(e) {
			f.neighbours("the arguments", f.ordered(e))
		}
	case *ast.CompositeLit:
		if !f.options(e) && !f.unordered[e] {
			f.neighbours("the values", values(e))
		}
	case *ast.BasicLit:
		f.literal(e)
	case *ast.Ident:
		f.constant(e, f.types.Uses[e])
	case *ast.SelectorExpr:
		f.constant(e, f.types.Uses[e.Sel])
	}
}

// opaque reports whether the parts of an expression are not mutated: the names of a selector, a type, and the sizes
// that make gets.
func (f *finder) opaque(e ast.Expr) bool {
	if tv, ok := f.types.Types[e]; ok && tv.IsType() {
		return true
	}
	switch e := e.(type) {
	case *ast.SelectorExpr:
		f.inside(e.X)
		return true
	case *ast.CallExpr:
		return calls(e, "make")
	}
	return false
}

func (f *finder) operands(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		f.negate(e.X)
		f.negate(e.Y)
	case token.SUB, token.QUO, token.REM, token.SHL, token.SHR, token.LSS, token.GTR, token.LEQ, token.GEQ,
		token.AND_NOT:
		f.neighbours("the operands", []ast.Expr{e.X, e.Y})
	case token.ADD:
		if b, ok := f.types.TypeOf(e).Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 &&
			!f.sentence(e) {
			f.neighbours("the operands", []ast.Expr{e.X, e.Y})
		}
	default: // the others commute
	}
}

// neighbours exchanges neighbours of the same type.
func (f *finder) neighbours(what string, list []ast.Expr) {
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		one, other := f.types.TypeOf(a), f.types.TypeOf(b)
		if one != nil && other != nil && types.Identical(types.Default(one), types.Default(other)) &&
			f.file.at(a) != f.file.at(b) {
			f.exchange(what, a, b)
		}
	}
}

// values returns the values of a composite literal, with or without keys.
func values(lit *ast.CompositeLit) (list []ast.Expr) {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		list = append(list, e)
	}
	return list
}

// literal changes a number by one or doubles it, and changes a string unless it is a sentence.
func (f *finder) literal(e *ast.BasicLit) {
	switch e.Kind {
	case token.INT:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		if err != nil {
			return
		}
		changed := n + 1
		switch {
		case n > 2:
			changed = 2*n + 1
		case n == 0 && f.duration(e):
			changed = int64(time.Hour) // no test sees a nanosecond
		}
		f.add(fmt.Sprintf("change the constant %s to %d", e.Value, changed),
			f.replace(e, strconv.FormatInt(changed, 10)))
	case token.FLOAT:
		f.add(fmt.Sprintf("change the constant %s to its double and one", e.Value), f.replace(e, "("+e.Value+"*2+1)"))
	case token.STRING:
		text, err := strconv.Unquote(e.Value)
		if err != nil || prose(text) {
			return
		}
		f.add("change the constant "+e.Value, f.replace(e, strconv.Quote(text+"-changed")))
	default:
	}
}

// constant changes the use of a named constant.
func (f *finder) constant(e ast.Expr, used types.Object) {
	c, ok := used.(*types.Const)
	if !ok {
		return
	}
	if c.Parent() == types.Universe {
		switch c.Name() {
		case "true":
			f.add("change true to false", f.replace(e, "false"))
		case "false":
			f.add("change false to true", f.replace(e, "true"))
		}
		return
	}
	if c.Pkg() != nil && c.Pkg().Path() == "time" {
		return // a unit: its factor is changed
	}
	switch c.Val().Kind() {
	case constant.Int, constant.Float:
		f.add("change the constant "+f.quote(e)+" to its double and one", f.replace(e, "("+f.file.at(e)+"*2+1)"))
	case constant.String:
		if !prose(constant.StringVal(c.Val())) {
			f.add("change the constant "+f.quote(e), f.replace(e, "("+f.file.at(e)+`+"-changed")`))
		}
	default:
	}
}

// prose reports whether a text is a sentence for readers: tests do not compare it.
func prose(text string) bool { return strings.ContainsAny(text, " \n%") }

package main

import (
	"go/ast"
	"go/types"
	"math/bits"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// decisionBars returns the rows about the decision of the managed reconciler.
func decisionBars(m, l *measure.Package) []bar {
	decides := 0
	for _, fn := range functions(m) {
		decides += len(measure.Calls(fn, "lifecycle", "Decide"))
	}
	most, name := 0, ""
	for _, fn := range functions(l) {
		if n := measure.Branches(fn); n > most {
			most, name = n, fn.Name.Name
		}
	}
	return []bar{
		{what: "calls of lifecycle.Decide", is: decides, most: 1},
		{what: "combinations of facts, as the power of two that they do not exceed", is: combinations(l), most: 20},
		{what: "branches of the largest function of the decision", is: most, note: "(" + name + ")", most: 15},
	}
}

// combinations returns n such that there are at most 2^n different Facts.
func combinations(l *measure.Package) int {
	facts := l.Types.Scope().Lookup("Facts")
	if facts == nil {
		return unknown
	}
	return bits.Len(uint(values(l, facts.Type()) - 1))
}

// values returns the number of values of the type of a fact. For a named integer type these are its constants.
func values(l *measure.Package, of types.Type) int {
	switch u := of.Underlying().(type) {
	case *types.Struct:
		n := 1
		for field := range u.Fields() {
			n *= values(l, field.Type())
		}
		return n
	case *types.Basic:
		if u.Info()&types.IsBoolean != 0 {
			return 2
		}
		n := 0
		for _, name := range l.Types.Scope().Names() {
			if c, ok := l.Types.Scope().Lookup(name).(*types.Const); ok && types.Identical(c.Type(), of) {
				n++
			}
		}
		return max(n, 1)
	}
	return 1
}

// onceBars returns the rows about rules that only one package should implement. Each counts the packages of pkg and
// internal with their own code for the rule.
func onceBars(t *measure.Tree) []bar {
	requeue, fresh, patch := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range t.Go {
		if !f.In("pkg", "internal") || f.Test() || f.Generated() || f.In("internal/mutate", "internal/hygiene") {
			continue
		}
		for _, decl := range f.AST.Decls {
			requeue[f.Dir()] = requeue[f.Dir()] || requeues(decl)
			fresh[f.Dir()] = fresh[f.Dir()] || len(measure.Calls(decl, "resourceversion", "CompareResourceVersion")) > 0
			fn, ok := decl.(*ast.FuncDecl)
			patch[f.Dir()] = patch[f.Dir()] || ok && mergePatch(fn)
		}
	}
	return []bar{
		{what: "packages that requeue silently with back-off by themselves", is: truths(requeue), most: 1},
		{what: "packages that compare resource versions by themselves", is: truths(fresh), most: 1},
		{what: "packages that apply a merge patch by themselves", is: truths(patch), most: 1},
	}
}

func truths(of map[string]bool) (n int) {
	for _, is := range of {
		if is {
			n++
		}
	}
	return n
}

// requeues reports whether a declaration has a literal with Requeue: true.
func requeues(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, _ := kv.Key.(*ast.Ident)
		value, _ := kv.Value.(*ast.Ident)
		found = found || key != nil && value != nil && key.Name == "Requeue" && value.Name == "true"
		return true
	})
	return found
}

// mergePatch reports whether a function applies a merge patch as RFC 7386 defines it: it has two parameters, calls
// itself, compares with nil and deletes keys.
func mergePatch(fn *ast.FuncDecl) bool {
	again, deletes, null := false, false, false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				again = again || id.Name == fn.Name.Name
				deletes = deletes || id.Name == "delete"
			}
		case *ast.BinaryExpr:
			right, ok := n.Y.(*ast.Ident)
			null = null || ok && right.Name == "nil"
		case *ast.CaseClause:
			for _, e := range n.List {
				id, ok := e.(*ast.Ident)
				null = null || ok && id.Name == "nil"
			}
		}
		return true
	})
	return fn.Type.Params.NumFields() == 2 && again && deletes && null
}

// exported counts the exported names and the methods of exported types in the packages of pkg that other modules can
// import.
func exported(t *measure.Tree) (n int) {
	for _, f := range t.Go {
		internal := slices.Contains(strings.Split(f.Dir(), "/"), "internal") || f.AST.Name.Name == "main"
		if !f.In("pkg") || f.Test() || f.Generated() || internal {
			continue
		}
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if receiver := measure.Receiver(d); d.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
					n++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					n += exportedIn(spec)
				}
			}
		}
	}
	return n
}

func exportedIn(spec ast.Spec) (n int) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			n++
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}

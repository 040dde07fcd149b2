package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// passBars returns the rows about the code that an object runs through in a pass, as far as calls show it. A pass
// embeds structs, whose methods are also methods of the pass. Some bars count only the methods of pass itself; the
// number in parentheses then counts all methods.
func passBars(m, l *measure.Package) []bar {
	methods, files := methodsOf(m, "pass")
	allMethods, allFiles := methodsOf(m, layers(m)...)
	opened, lines := spine(m, l)
	flow, ambiguous := sentinels(m), homonyms(m, l)
	return []bar{
		{what: "methods of pass", is: methods, most: 45, note: withEmbedded(methods, allMethods)},
		{what: "files with methods of pass", is: files, most: 6, note: withEmbedded(files, allFiles)},
		{what: "files of Reconcile, run, facts, Decide, report and of the methods that these call", is: opened, most: 7},
		{what: "lines of those files", is: lines, most: 1400},
		{what: "functions of managed that build a reconcile.Result", is: len(resultBuilders(m)), most: 1},
		{what: "calls of the external system that report reaches", is: externalCalls(m, "report")},
		{what: "assignments to a pass or its memory that facts reaches", is: factsWrites(m)},
		{what: "errors of managed that are control flow", is: len(flow), most: 1, note: flowNote(flow, valuesOf(m, flow))},
		{what: "ends of a pass outside decisions: those errors returned, results built outside report", is: bypasses(m)},
		{
			what: "words with several meanings in managed, of the ten that had", is: len(ambiguous),
			note: inParentheses(ambiguous),
		},
	}
}

// functions returns the functions and methods of a package, in the order of its files.
func functions(p *measure.Package) (out []*ast.FuncDecl) {
	if p == nil {
		return nil
	}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				out = append(out, fn)
			}
		}
	}
	return out
}

// layers returns the names of pass and of the structs of its package that it embeds, directly or indirectly.
func layers(m *measure.Package) []string {
	structs := map[string]*ast.StructType{}
	for _, f := range m.Files {
		for _, decl := range f.AST.Decls {
			gen, ok := decl.(*ast.GenDecl)
			for i := 0; ok && i < len(gen.Specs); i++ {
				if spec, isType := gen.Specs[i].(*ast.TypeSpec); isType {
					structs[spec.Name.Name], _ = spec.Type.(*ast.StructType)
				}
			}
		}
	}
	out := []string{"pass"}
	for i := 0; i < len(out); i++ {
		if s := structs[out[i]]; s != nil {
			for _, field := range s.Fields.List {
				if name := embedded(field); structs[name] != nil && !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

func withEmbedded(own, all int) string {
	if all == own {
		return ""
	}
	return fmt.Sprintf("(%d with those of embedded structs)", all)
}

func methodsOf(p *measure.Package, receivers ...string) (methods, files int) {
	for _, f := range p.Files {
		n := 0
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && slices.Contains(receivers, measure.Receiver(fn)) {
				n++
			}
		}
		methods += n
		files += min(n, 1)
	}
	return methods, files
}

// spine returns the number of files and of lines with the functions that every pass runs through. It also counts the
// methods of a reconciler, a pass or the structs embedded in a pass to which these functions refer.
func spine(m, l *measure.Package) (files, lines int) {
	opened := map[*measure.File]bool{}
	all, receivers := m.Declarations(), append(layers(m), "Reconciler")
	for _, name := range [][2]string{{"Reconciler", "Reconcile"}, {"pass", "run"}, {"pass", "facts"}, {"pass", "report"}} {
		obj := m.Function(name[0], name[1])
		if obj == nil {
			return unknown, unknown
		}
		opened[all[obj].File] = true
		for _, used := range m.Used(all[obj].Node) {
			fn, ok := all[used].Node.(*ast.FuncDecl)
			if ok && slices.Contains(receivers, measure.Receiver(fn)) {
				opened[all[used].File] = true
			}
		}
	}
	for obj, d := range l.Declarations() {
		if obj != nil && (obj.Name() == "Decide" || obj.Name() == "Facts") {
			opened[d.File] = true
		}
	}
	for f := range opened {
		lines += measure.LineCount(f.Text)
	}
	return len(opened), lines
}

// resultBuilders returns the functions with a literal of a result that is not empty.
func resultBuilders(m *measure.Package) (out []*ast.FuncDecl) {
	for _, fn := range functions(m) {
		if results(fn) > 0 {
			out = append(out, fn)
		}
	}
	return out
}

func results(fn *ast.FuncDecl) (n int) {
	ast.Inspect(fn, func(node ast.Node) bool {
		c, ok := node.(*ast.CompositeLit)
		if !ok || len(c.Elts) == 0 {
			return true
		}
		if s, ok := c.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Result" {
			n++
		}
		return true
	})
	return n
}

// Methods of clients that call the external system, and parts of the names of variables that hold a client. The type of
// a client is not known without the imports of the package.
var (
	external = []string{
		"Connect", "Observe", "Create", "Update", "Delete", "Disconnect", "RecoverCreation", "ListExternal",
	}
	holders = []string{"external", "connecter", "recoverer", "lister"}
)

// externalCalls counts the calls of the external system that a method of pass makes, directly or indirectly.
func externalCalls(m *measure.Package, name string) int {
	from := m.Function("pass", name)
	if from == nil {
		return unknown
	}
	n := 0
	for _, d := range m.Reached(from) {
		ast.Inspect(d.Node, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && callsExternal(call) {
				n++
			}
			return true
		})
	}
	return n
}

func callsExternal(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(external, s.Sel.Name) {
		return false
	}
	holder := ""
	switch x := s.X.(type) {
	case *ast.Ident:
		holder = x.Name
	case *ast.SelectorExpr:
		holder = x.Sel.Name
	}
	return slices.ContainsFunc(holders, func(part string) bool { return strings.Contains(strings.ToLower(holder), part) })
}

func factsWrites(m *measure.Package) int {
	from := m.Function("pass", "facts")
	if from == nil {
		return unknown
	}
	n := 0
	for _, d := range m.Reached(from) {
		if fn, ok := d.Node.(*ast.FuncDecl); ok {
			n += m.Writes(fn)
		}
	}
	return n
}

// sentinels returns the errors that control the flow: unexported variables and types of the package that are arguments
// of errors.Is or errors.As. Variables with a literal of an error type count as that type. An error is no control flow
// if only the functions in failureClasses ask for it: it is a class of failures, which has a metric and is reported to
// users.
func sentinels(m *measure.Package) map[types.Object]bool {
	asked := askedFor(m)
	out := map[types.Object]bool{}
	for obj, d := range m.Declarations() {
		if obj == nil || !asked[obj] {
			continue
		}
		switch obj := obj.(type) {
		case *types.Var:
			spec, ok := d.Node.(*ast.ValueSpec)
			if !ok || obj.Exported() || len(spec.Values) == 0 {
				continue
			}
			if len(measure.Calls(spec, "errors", "New")) > 0 {
				out[obj] = true
			}
			if id := literalType(spec.Values[0]); id != nil && m.Function(id.Name, "Error") != nil {
				out[m.Info.Uses[id]] = true
			}
		case *types.TypeName:
			if !obj.Exported() && m.Function(obj.Name(), "Error") != nil {
				out[obj] = true
			}
		}
	}
	return out
}

// valuesOf returns the package variables whose values are literals of the types among the sentinels.
func valuesOf(m *measure.Package, flow map[types.Object]bool) map[types.Object]bool {
	out := map[types.Object]bool{}
	for obj, d := range m.Declarations() {
		spec, ok := d.Node.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) && m.Info.Defs[name] == obj && flow[m.Info.Uses[literalType(spec.Values[i])]] {
				out[obj] = true
			}
		}
	}
	return out
}

// literalType returns the name of the type of a literal or of its address, or nil.
func literalType(e ast.Expr) *ast.Ident {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	c, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	id, _ := c.Type.(*ast.Ident)
	return id
}

// flowNote returns the names of the sentinels, and the number of variables with values of their types.
func flowNote(flow, values map[types.Object]bool) string {
	var names []string
	for obj := range flow {
		names = append(names, obj.Name())
	}
	slices.Sort(names)
	if len(values) > 0 {
		names = append(names, fmt.Sprintf("with %d values", len(values)))
	}
	return inParentheses(names)
}

func inParentheses(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// askedFor returns the variables that are arguments of errors.Is, and the types in functions that call errors.As or
// errors.AsType. It leaves out the functions to which the variable failureClasses refers.
func askedFor(m *measure.Package) map[types.Object]bool {
	out := map[types.Object]bool{}
	add := func(from ast.Node, isType bool) {
		ast.Inspect(from, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || m.Info.Uses[id] == nil {
				return true
			}
			if _, named := m.Info.Uses[id].(*types.TypeName); named == isType {
				out[m.Info.Uses[id]] = true
			}
			return true
		})
	}
	classifies := classifiers(m)
	for _, fn := range functions(m) {
		if classifies[fn.Name.Name] {
			continue
		}
		if len(measure.Calls(fn, "errors", "As", "AsType")) > 0 {
			add(fn, true)
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(measure.Calls(call.Fun, "errors", "Is")) > 0 {
				add(call, false)
			}
			return true
		})
	}
	return out
}

// classifiers returns the names of the functions to which the table failureClasses refers.
func classifiers(m *measure.Package) map[string]bool {
	out := map[string]bool{}
	for obj, d := range m.Declarations() {
		if obj == nil || obj.Name() != "failureClasses" {
			continue
		}
		for _, used := range m.Used(d.Node) {
			if _, ok := used.(*types.Func); ok {
				out[used.Name()] = true
			}
		}
	}
	return out
}

// bypasses counts the ends of a pass without a decision. A package variable of a sentinel's type is no such end: it is
// a fact for a later decision. A literal of the type has the outcome that the function decides on.
func bypasses(m *measure.Package) (n int) {
	flow := sentinels(m)
	for _, fn := range functions(m) {
		if !slices.Contains([]string{"report", "answer"}, fn.Name.Name) {
			n += results(fn)
		}
		ast.Inspect(fn, func(node ast.Node) bool {
			ret, ok := node.(*ast.ReturnStmt)
			if !ok {
				return true
			}
			for _, e := range ret.Results {
				if u, ok := e.(*ast.UnaryExpr); ok {
					e = u.X
				}
				if c, ok := e.(*ast.CompositeLit); ok {
					e = c.Type
				}
				if id, ok := e.(*ast.Ident); ok && flow[m.Info.Uses[id]] {
					n++
				}
			}
			return true
		})
	}
	return n
}

// Words that had several meanings at commit 4a8b5ff.
var severalMeanings = []string{"told", "held", "waits", "made", "rest", "leave", "begin", "class", "turn", "live"}

// homonyms returns the words of severalMeanings that still name several things: types, functions, methods, fields or
// constants of the package and its decision.
func homonyms(packages ...*measure.Package) (out []string) {
	declared := map[string]int{}
	for _, p := range packages {
		for id, obj := range p.Info.Defs {
			v, isVar := obj.(*types.Var)
			if obj == nil || isVar && !v.IsField() && v.Parent() != p.Types.Scope() {
				continue
			}
			declared[strings.ToLower(id.Name)]++
		}
	}
	for _, word := range severalMeanings {
		if declared[word] > 1 {
			out = append(out, word)
		}
	}
	return out
}

package measure

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Package is the hand-written code of one folder without its tests. It is type-checked as far as that is possible
// without its imports.
type Package struct {
	Dir   string
	Files []*File
	Types *types.Package
	Info  *types.Info
}

// Package returns the package in a folder, or nil if there is no code.
func (t *Tree) Package(dir string) *Package {
	p := &Package{Dir: dir, Info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	var parsed []*ast.File
	for _, f := range t.Go {
		if f.Dir() == dir && !f.Test() {
			p.Files = append(p.Files, f)
			parsed = append(parsed, f.AST)
		}
	}
	if len(parsed) == 0 {
		return nil
	}
	// Each imported name is an error, because it is unknown. Names of the package itself are still resolved.
	config := types.Config{Importer: missing{}, Error: func(error) {}, DisableUnusedImportCheck: true}
	p.Types, _ = config.Check(dir, t.Fset, parsed, p.Info)
	return p
}

// A missing is an importer that returns empty packages with only their names.
type missing struct{}

func (missing) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// globals finds package variables of pkg and internal that change after the start. A variable changes by an assignment,
// through its address, or by a method that changes its receiver. Variables whose type serves only to change also count:
// locks, caches and metrics. Tables that are only read do not count.
func globals(t *Tree) (out []Finding) {
	dirs := map[string]bool{}
	for _, f := range t.Go {
		if f.In("pkg", "internal") && !f.Test() {
			dirs[f.Dir()] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		p := t.Package(dir)
		changed := p.changed()
		for _, f := range p.Files {
			if f.Generated() {
				continue
			}
			for _, name := range variables(f.AST) {
				if why := changed[p.Info.Defs[name]]; why != "" {
					out = append(out, f.finding(f.Line(name.Pos()), "%s %s", name.Name, why))
				}
			}
		}
	}
	return out
}

// variables returns the names of the package variables of a file.
func variables(f *ast.File) (out []*ast.Ident) {
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// changed returns the package variables that change, and how.
func (p *Package) changed() map[types.Object]string {
	out := map[types.Object]string{}
	mark := func(e ast.Expr, why string) {
		if obj := p.global(e); obj != nil && out[obj] == "" {
			out[obj] = why
		}
	}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					p.changes(n, mark)
					return true
				})
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && stateful(v) {
						for _, name := range v.Names {
							mark(name, "is made to change")
						}
					}
				}
			}
		}
	}
	return out
}

// changes marks the variables that a node changes.
func (p *Package) changes(n ast.Node, mark func(e ast.Expr, why string)) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				mark(e, "is assigned")
			}
		}
	case *ast.IncDecStmt:
		mark(n.X, "is assigned")
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			mark(n.X, "is changed by its address")
		}
	case *ast.CallExpr:
		switch fun := n.Fun.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"delete", "clear", "copy"}, fun.Name) && len(n.Args) > 0 {
				mark(n.Args[0], "is changed")
			}
		case *ast.SelectorExpr:
			if p.assigns(p.Info.Uses[fun.Sel]) {
				mark(fun.X, "is changed by its method "+fun.Sel.Name)
			}
		}
	}
}

// assigns returns whether an object is a method of this package that has a pointer receiver and assigns to it.
func (p *Package) assigns(method types.Object) bool {
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || method == nil || p.Info.Defs[fn.Name] != method || fn.Recv == nil ||
				len(fn.Recv.List[0].Names) == 0 {
				continue
			}
			receiver, found := p.Info.Defs[fn.Recv.List[0].Names[0]], false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				p.assigned(n, func(e ast.Expr) { found = found || p.rootOf(e) == receiver })
				return !found
			})
			return found
		}
	}
	return false
}

// assigned visits the fields and elements to which a node assigns. It does not visit variables themselves.
func (p *Package) assigned(n ast.Node, visit func(ast.Expr)) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			if _, plain := e.(*ast.Ident); !plain {
				visit(e)
			}
		}
	case *ast.IncDecStmt:
		visit(n.X)
	}
}

// global returns the package variable that an expression is, or of which it is a part.
func (p *Package) global(e ast.Expr) types.Object {
	obj := p.rootOf(e)
	if v, ok := obj.(*types.Var); ok && p.Types != nil && v.Parent() == p.Types.Scope() {
		return obj
	}
	return nil
}

// rootOf returns the variable at the left end of a selection, an index or a dereference.
func (p *Package) rootOf(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			if obj := p.Info.Uses[x]; obj != nil {
				return obj
			}
			return p.Info.Defs[x]
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// stateful returns whether the type of a variable serves only to change, or whether a package of metrics creates the
// variable.
func stateful(v *ast.ValueSpec) (found bool) {
	for _, e := range append([]ast.Expr{v.Type}, v.Values...) {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if _, fn := n.(*ast.FuncType); fn {
				return false
			}
			if _, fn := n.(*ast.FuncLit); fn {
				return false
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			found = found || ok && (x.Name == "atomic" || x.Name == "sync" && !strings.HasPrefix(s.Sel.Name, "Once") ||
				x.Name == "prometheus" && strings.HasPrefix(s.Sel.Name, "New") && s.Sel.Name != "NewDesc")
			return true
		})
	}
	return found
}

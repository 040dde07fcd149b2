package measure

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A Declaration is the declaration of a package-level name or a method.
type Declaration struct {
	File *File
	Node ast.Node // an *ast.FuncDecl, an *ast.TypeSpec or an *ast.ValueSpec
}

// Declarations returns the declaration of each package-level name and each method of the package.
func (p *Package) Declarations() map[types.Object]Declaration {
	out := map[types.Object]Declaration{}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				out[p.Info.Defs[d.Name]] = Declaration{f, d}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						out[p.Info.Defs[s.Name]] = Declaration{f, s}
					case *ast.ValueSpec:
						for _, name := range s.Names {
							out[p.Info.Defs[name]] = Declaration{f, s}
						}
					}
				}
			}
		}
	}
	return out
}

// Function returns the function with the name, or the method if a receiver is given. It returns nil if there is none.
func (p *Package) Function(receiver, name string) types.Object {
	for obj, d := range p.Declarations() {
		if fn, ok := d.Node.(*ast.FuncDecl); ok && fn.Name.Name == name && Receiver(fn) == receiver {
			return obj
		}
	}
	return nil
}

// Receiver returns the name of the type of a method, or "" for a function.
func Receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// Used returns the functions, methods and variables of the package to which the code of n refers.
func (p *Package) Used(n ast.Node) (out []types.Object) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		switch obj := p.Info.Uses[id].(type) {
		case *types.Func:
			out = append(out, obj.Origin())
		case *types.Var:
			if p.Types != nil && obj.Parent() == p.Types.Scope() {
				out = append(out, obj)
			}
		}
		return true
	})
	return out
}

// Reached returns the given objects and all objects of the package that they use, directly or through others.
func (p *Package) Reached(from ...types.Object) map[types.Object]Declaration {
	all, out := p.Declarations(), map[types.Object]Declaration{}
	for len(from) > 0 {
		obj := from[len(from)-1]
		from = from[:len(from)-1]
		d, ok := all[obj]
		if _, known := out[obj]; !ok || known {
			continue
		}
		out[obj] = d
		from = append(from, p.Used(d.Node)...)
	}
	return out
}

// Writes counts the assignments in a method to fields of its receiver.
func (p *Package) Writes(fn *ast.FuncDecl) (n int) {
	if fn.Body == nil || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
		return 0
	}
	receiver := p.Info.Defs[fn.Recv.List[0].Names[0]]
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		p.assigned(node, func(e ast.Expr) {
			if receiver != nil && p.rootOf(e) == receiver {
				n++
			}
		})
		return true
	})
	return n
}

// Branches counts the conditions, cases and loops of a function, and each "and" and "or".
func Branches(fn *ast.FuncDecl) (n int) {
	ast.Inspect(fn, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			n += len(x.List)
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if slices.Contains([]token.Token{token.LAND, token.LOR}, x.Op) {
				n++
			}
		}
		return true
	})
	return n
}

// Calls returns the selectors in n, such as pkg.Name, that refer to one of the names in a package.
func Calls(n ast.Node, pkg string, names ...string) (out []*ast.SelectorExpr) {
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(names, s.Sel.Name) {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg {
			out = append(out, s)
		}
		return true
	})
	return out
}

package migrate

import (
	"go/ast"
)

// predicates replaces resource.DesiredStateChanged by the predicate of the reconciler, so that its own writes trigger
// no reconcile.
func predicates(_ *migration, s *source, used imports) {
	for _, u := range s.uses(used) {
		if u.of.there != "pkg/resource" || u.expr.Sel.Name != "DesiredStateChanged" || len(u.path) == 0 {
			continue
		}

		call, ok := u.path[len(u.path)-1].(*ast.CallExpr)
		if !ok {
			continue
		}

		if name := reconcilerOf(u.path, used); name != "" {
			s.replace(call, name+".Predicate()")
		} else {
			s.replace(call,
				s.mark("resource.DesiredStateChanged: the method Predicate of the reconciler that managed.NewReconciler returned")+
					s.read(call))
		}
	}
}

// configs reports the functions that set up the controller of a configuration.
func configs(_ *migration, s *source, used imports) {
	for _, u := range s.uses(used) {
		if u.of.there != "pkg/reconciler/providerconfig" || u.expr.Sel.Name != "NewReconciler" {
			continue
		}

		for _, n := range u.path {
			if fn, ok := n.(*ast.FuncDecl); ok {
				s.cut(fn.Type.Func, fn.Type.Func,
					s.mark(
						"let this function call providerconfig.Setup instead, with an empty object of each kind of configuration and "+
							"of each kind that uses one; for configurations that are being deleted, give it "+
							"providerconfig.WithRetiredFinalizers(\"in-use.crossplane.io\")"))
			}
		}
	}
}

// reconcilerOf returns the variable of a function that holds its reconciler.
func reconcilerOf(path []ast.Node, used imports) (found string) {
	for _, n := range path {
		fn, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}

		ast.Inspect(fn, func(n ast.Node) bool {
			set, ok := n.(*ast.AssignStmt)
			if !ok || len(set.Lhs) != 1 || len(set.Rhs) != 1 {
				return true
			}

			id, isID := set.Lhs[0].(*ast.Ident)

			if call, ok := set.Rhs[0].(*ast.CallExpr); ok && isID {
				if pkg, sel := qualified(call.Fun); sel != nil && sel.Sel.Name == "NewReconciler" &&
					used[pkg].there == "pkg/reconciler/managed" {
					found = id.Name
				}
			}

			return true
		})
	}

	return found
}

// clients completes clients that were written before crossplane-runtime v1.17: Delete returns
// an ExternalDelete since then, and there is Disconnect.
func clients(_ *migration, s *source, used imports) {
	methods := s.methods()

	for _, receiver := range sortedKeys(methods) {
		of := methods[receiver]

		create, del := of["Create"], of["Delete"]
		if create == nil || del == nil || of["Observe"] == nil {
			continue
		}

		pkg := creationOf(create, used)
		if pkg == "" {
			continue
		}

		if results := del.Type.Results; results != nil && len(results.List) == 1 && len(results.List[0].Names) == 0 &&
			s.read(results.List[0].Type) == "error" {
			s.replace(results.List[0].Type, "("+pkg+".ExternalDelete, error)")
			s.returns(del.Body, pkg+".ExternalDelete{}, ")
		}

		if of["Disconnect"] == nil {
			end := s.file.End()
			s.cut(end, end, "\n\n// Disconnect does nothing.\nfunc ("+s.read(del.Recv.List[0].Type)+") Disconnect("+
				s.read(del.Type.Params.List[0].Type)+") error { return nil }\n")
		}
	}
}

// methods returns those of each type, by name.
func (s *source) methods() map[string]map[string]*ast.FuncDecl {
	out := map[string]map[string]*ast.FuncDecl{}

	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || len(fn.Recv.List) != 1 || fn.Body == nil {
			continue
		}

		receiver := s.read(fn.Recv.List[0].Type)
		if out[receiver] == nil {
			out[receiver] = map[string]*ast.FuncDecl{}
		}

		out[receiver][fn.Name.Name] = fn
	}

	return out
}

// creationOf returns what the file calls the package of managed.ExternalCreation, if that is
// what a function returns.
func creationOf(fn *ast.FuncDecl, used imports) string {
	if fn.Type.Results == nil || len(fn.Type.Results.List) == 0 {
		return ""
	}

	pkg, sel := qualified(fn.Type.Results.List[0].Type)
	if sel == nil || sel.Sel.Name != "ExternalCreation" || used[pkg].there != "pkg/reconciler/managed" {
		return ""
	}

	return pkg
}

// returns writes something before what a function returns.
func (s *source) returns(body *ast.BlockStmt, first string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 1 {
				s.cut(n.Results[0].Pos(), n.Results[0].Pos(), first)
			}
		}

		return true
	})
}

// literals calls a function for each key of each literal of a type of the runtime's.
func (s *source) literals(used imports,
	visit func(there, name string, literal *ast.CompositeLit, i int, key *ast.Ident)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}

		pkg, sel := qualified(literal.Type)
		if sel == nil {
			return true
		}

		for i, e := range literal.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					visit(used[pkg].there, sel.Sel.Name, literal, i, key)
				}
			}
		}

		return true
	})
}

// secretSelectors names the reference of a SecretKeySelector as it is called here.
func secretSelectors(_ *migration, s *source, used imports) {
	s.literals(used, func(there, name string, _ *ast.CompositeLit, _ int, key *ast.Ident) {
		if there != "" && name == "SecretKeySelector" && key.Name == "SecretReference" {
			s.replace(key, "Reference")
		}
	})
}

// resolvers takes the namespace out of requests to resolve a reference: it is that of the object.
func resolvers(_ *migration, s *source, used imports) {
	d := &dropping{s: s, gone: map[ast.Node]bool{}}

	s.literals(used, func(there, name string, literal *ast.CompositeLit, i int, key *ast.Ident) {
		if there == "pkg/reference" && key.Name == "Namespace" &&
			(name == "NamespacedResolutionRequest" || name == "MultiNamespacedResolutionRequest") {
			d.element(literal.Elts, literal.Elts[i], literal.Lbrace+1, literal.Rbrace, "")
		}
	})
}

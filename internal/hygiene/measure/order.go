package measure

import (
	"go/ast"
	"go/types"
)

// A Use is a use of a definition by another definition in the same file.
type Use struct {
	Finding

	Against bool // it runs against the reading order: the used definition stands above its user
}

// Uses returns the uses between the definitions of each file of the package, in the order of the users: functions and
// methods that name a function, a method or a variable of the package, each pair once. A reader begins at the top of
// a file, and expects details below their first use. Types and constants do not count: they may stand above.
//
// The bars of the reading order came without a definition, with 37 % for the managed reconciler and 48 % for the
// simulator. Of the definitions that were tried on commit 4a8b5ff (each use or each pair; from functions or from any
// definition; with and without variables, types and constants) this one comes nearest: 37.0 % for
// pkg/reconciler/managed (34.1 % with the packages below), 48.6 % for pkg/sim with the packages below.
func (p *Package) Uses() (out []Use) {
	all := p.Declarations()
	for _, f := range p.Files {
		if f.Generated() {
			continue
		}
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			seen := map[types.Object]bool{p.Info.Defs[fn.Name]: true}
			for _, used := range p.Used(fn) {
				if to := all[used]; to.File == f && !seen[used] {
					seen[used] = true
					out = append(out, p.use(f, fn, used))
				}
			}
		}
	}
	return out
}

// use returns the use of a definition of the file by a function.
func (p *Package) use(f *File, fn *ast.FuncDecl, used types.Object) Use {
	against, where := used.Pos() < fn.Pos(), "below"
	if against {
		where = "above"
	}
	return Use{
		f.finding(f.Line(fn.Pos()), "%s uses %s, which is %s it, in line %d", fn.Name.Name, used.Name(), where,
			f.Line(used.Pos())),
		against,
	}
}

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
// At commit 4a8b5ff it is 37.0 % for pkg/reconciler/managed (34.1 % with the packages below), and 48.6 % for pkg/sim
// with the packages below.
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

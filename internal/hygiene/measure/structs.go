package measure

import "go/ast"

// MaxFields is the maximum number of fields of a struct of the library.
const MaxFields = 20

// structs finds large structs in pkg and internal. It omits the facts of a decision, which are its parameters.
func structs(t *Tree) (out []Finding) {
	for _, s := range t.Structs() {
		f := s.File
		if f.In("pkg", "internal") && !f.Test() && !f.Generated() && s.Fields > MaxFields && s.Name != "Facts" {
			out = append(out, f.finding(f.Line(s.Type.Pos()), "%s has %d fields", s.Name, s.Fields))
		}
	}
	return out
}

// A Struct is a named struct type. Embedded types count as one field each.
type Struct struct {
	File   *File
	Name   string
	Type   *ast.StructType
	Fields int
}

// Structs returns every named struct, also those in functions.
func (t *Tree) Structs() (out []Struct) {
	for _, f := range t.Go {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				out = append(out, Struct{f, spec.Name.Name, s, fields(s)})
			}
			return true
		})
	}
	return out
}

func fields(s *ast.StructType) (n int) {
	for _, field := range s.Fields.List {
		n += max(1, len(field.Names))
	}
	return n
}

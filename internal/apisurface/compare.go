package apisurface

import (
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A member is the smallest part of an API that can be missing or differ: a function, a method, a constant, a field,
// a method of an interface.
type member struct {
	key   string     // its kind, its name and the name of its owner
	typ   types.Type // nil if the key is enough
	extra string     // a constant's value, a field's tag
}

// compare returns a line for each member of the entries that the package does not have ("- ...") or has in addition
// to what a golden type has ("+ ...").
func (l library) compare(s surface, path string, entries []entry) ([]string, error) {
	golden, err := l.check(s.source(path, entries))
	if err != nil {
		return nil, fmt.Errorf("the golden file does not fit %s:\n%w", path, err)
	}
	pkg, err := l.Import(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for n, e := range entries {
		want := e.members(golden.Scope().Lookup(placeholder(n)))
		out = append(out, differences(want, e.members(find(pkg, e)), s.qualifier(path))...)
	}
	return out, nil
}

// find returns the object of a package with the name of the entry, or nil.
func find(pkg *types.Package, e entry) types.Object {
	if e.kind != "method" {
		return pkg.Scope().Lookup(e.name)
	}
	owner, ok := pkg.Scope().Lookup(strings.TrimPrefix(e.recv, "*")).(*types.TypeName)
	if !ok {
		return nil
	}
	typ := owner.Type()
	if strings.HasPrefix(e.recv, "*") {
		typ = types.NewPointer(types.Unalias(typ))
	}
	selection := types.NewMethodSet(typ).Lookup(pkg, e.name)
	if selection == nil {
		return nil
	}
	return selection.Obj()
}

// members returns the members of an object that the entry names. A nil object has none.
func (e entry) members(obj types.Object) []member {
	switch obj := obj.(type) {
	case *types.Const:
		return []member{{key: "const " + e.name, typ: obj.Type(), extra: " = " + obj.Val().ExactString()}}
	case *types.Var:
		return []member{{key: "var " + e.name, typ: obj.Type()}}
	case *types.Func:
		return []member{{key: e.callable(), typ: withoutReceiver(obj.Signature())}}
	case *types.TypeName:
		if e.kind == "func" || e.kind == "method" {
			return []member{{key: e.callable(), typ: obj.Type().Underlying()}}
		}
		return parts(e.name, obj.Type().Underlying())
	default:
		return nil
	}
}

func (e entry) callable() string {
	if e.kind == "method" {
		return fmt.Sprintf("method (%s) %s", e.recv, e.name)
	}
	return "func " + e.name
}

// parts returns the fields or methods of a type. Unexported fields do not count. Unexported methods do: they keep
// other packages from implementing an interface.
func parts(name string, typ types.Type) []member {
	switch t := typ.(type) {
	case *types.Struct:
		out := []member{{key: "type " + name + " struct"}}
		for i := range t.NumFields() {
			f := t.Field(i)
			if !f.Exported() {
				continue
			}
			kind := "field "
			if f.Embedded() {
				kind = "embedded "
			}
			tag := ""
			if t.Tag(i) != "" {
				tag = " `" + t.Tag(i) + "`"
			}
			out = append(out, member{key: "type " + name + " struct, " + kind + f.Name(), typ: f.Type(), extra: tag})
		}
		return out
	case *types.Interface:
		out := []member{{key: "type " + name + " interface"}}
		for m := range t.Methods() {
			out = append(out, member{
				key: "type " + name + " interface, method " + m.Name(),
				typ: withoutReceiver(m.Signature()),
			})
		}
		return out
	default:
		return []member{{key: "type " + name, typ: typ}}
	}
}

func withoutReceiver(s *types.Signature) *types.Signature {
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}

func differences(want, have []member, q types.Qualifier) []string {
	var out []string
	for _, w := range want {
		if h, ok := byKey(have, w.key); !ok || !w.same(h) {
			out = append(out, "- "+w.print(q))
		}
	}
	for _, h := range have {
		if w, ok := byKey(want, h.key); !ok || !w.same(h) {
			out = append(out, "+ "+h.print(q))
		}
	}
	return out
}

func byKey(ms []member, key string) (member, bool) {
	i := slices.IndexFunc(ms, func(m member) bool { return m.key == key })
	if i < 0 {
		return member{}, false
	}
	return ms[i], true
}

func (m member) same(other member) bool {
	if m.typ == nil || other.typ == nil {
		return m.typ == other.typ
	}
	return m.extra == other.extra && types.Identical(m.typ, other.typ)
}

// print writes the member as a line of a .deviations file.
func (m member) print(q types.Qualifier) string {
	if m.typ == nil {
		return m.key
	}
	typ := types.TypeString(m.typ, q)
	if sig, isFunc := strings.CutPrefix(typ, "func("); isFunc {
		return m.key + "(" + sig + m.extra
	}
	return m.key + " " + typ + m.extra
}

// qualifier names packages as the golden file does, and leaves out the name of the package itself.
func (s surface) qualifier(own string) types.Qualifier {
	names := map[string]string{own: ""}
	for _, twin := range twins(own) {
		names[twin] = ""
	}
	for _, i := range s.imports {
		name, path, _ := strings.Cut(i, " ")
		if path, err := strconv.Unquote(path); err == nil {
			if _, own := names[path]; !own {
				names[path] = name
			}
		}
	}
	return func(p *types.Package) string {
		if name, ok := names[p.Path()]; ok {
			return name
		}
		return p.Name()
	}
}

package migrate

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// renames writes what a name is called here, and imports where it is.
func renames(m *migration, s *source, used imports) {
	r := &renaming{m: m, s: s, local: map[string]string{}, taken: s.names()}

	for _, name := range slices.Sorted(maps.Keys(used)) {
		if p := used[name]; p.here != "" {
			r.keep(p)
		}
	}

	for _, u := range s.uses(used) {
		r.name(u)
	}

	r.imports(used)
}

// A renaming is that of one file.
type renaming struct {
	m     *migration
	s     *source
	local map[string]string // what the file calls a package, by its path
	taken map[string]bool   // names that mean something in the file
	here  map[string]bool   // paths that are used
}

// keep lets the file call the package here as it called the one there.
func (r *renaming) keep(p imported) {
	to := full(p.here, r.m.module)
	if _, ok := r.local[to]; ok || anonymous(p.local) {
		return
	}

	r.local[to] = p.local

	for _, spec := range r.s.file.Imports {
		if importPath(spec) == to && !anonymous(localName(spec)) {
			r.local[to] = localName(spec) // the file has it already
		}
	}
}

// name writes the name of one use.
func (r *renaming) name(u use) {
	t := r.m.rules.target(u)

	if t.name == "" {
		t.name = u.expr.Sel.Name
	}

	if t.pkg == "" {
		what := t.note
		if what == "" {
			what = fmt.Sprintf("%s.%s of %s/%s has no counterpart: see docs/migrating.md", u.of.local, u.expr.Sel.Name,
				r.m.rules.module, u.of.there)
		}

		r.s.replace(u.expr, r.s.mark(what)+r.s.read(u.expr))
		r.use(u.of.there)

		return
	}

	if strings.HasPrefix(t.pkg, "./") {
		r.m.leftover = true
	}

	if t.note == "" {
		t.note = missing(t.pkg, t.name)
	}

	r.s.replace(u.expr, r.s.mark(t.note)+r.call(full(t.pkg, r.m.module))+"."+t.name)
}

// call returns what the file calls a package here.
func (r *renaming) call(to string) string {
	r.use(to)

	if name, ok := r.local[to]; ok {
		return name
	}

	for _, spec := range r.s.file.Imports {
		if importPath(spec) == to {
			r.local[to] = localName(spec)

			return r.local[to]
		}
	}

	name := calledAs(to)
	for r.taken[name] {
		name = "moorage" + name
	}

	r.local[to], r.taken[name] = name, true

	return name
}

// calledAs returns what a file calls a package that is new in it.
func calledAs(to string) string {
	if to == ours+"/apis/common/v1" {
		return "commonv1"
	}

	return packageName(to)
}

func (r *renaming) use(path string) {
	if r.here == nil {
		r.here = map[string]bool{}
	}

	r.here[path] = true
}

// names returns every identifier of the file.
func (s *source) names() map[string]bool {
	out := map[string]bool{}

	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			out[id.Name] = true
		}

		return true
	})

	return out
}

// imports writes the imports: one of the runtime's becomes that of the package here, if that
// is used, and the others follow the last.
func (r *renaming) imports(used imports) {
	written := map[string]bool{}

	for _, spec := range r.s.file.Imports {
		if p, ok := used[key(spec)]; (!ok || p.spec != spec) && !anonymous(localName(spec)) {
			written[importPath(spec)] = true
		}
	}

	var last *ast.ImportSpec

	texts := map[*ast.ImportSpec]string{}

	for _, spec := range r.s.file.Imports {
		if p, ok := used[key(spec)]; ok && p.spec == spec {
			last, texts[spec] = spec, r.importSpec(p, written)
		}
	}

	for _, to := range slices.Sorted(maps.Keys(r.local)) {
		if last != nil && r.here[to] && !written[to] {
			texts[last] = strings.TrimPrefix(texts[last]+"\n"+spec(r.local[to], to), "\n")
		}
	}

	r.write(texts)
}

// importSpec returns what takes the place of an import of the runtime's.
func (r *renaming) importSpec(p imported, written map[string]bool) string {
	to := full(p.here, r.m.module)

	switch {
	case p.local == "." && p.here == "":
		return r.dot(p) + r.s.read(p.spec)
	case p.local == ".":
		return r.dot(p) + spec(p.local, to)
	case p.here == "" && r.here[p.there]: // reported at its uses
		return r.s.read(p.spec)
	case p.here == "", written[to], !r.here[to] && p.local != "_":
		return ""
	case p.local == "_":
		return spec(p.local, to)
	}

	written[to] = true

	return spec(r.local[to], to)
}

// dot marks an import whose names the file uses without that of the package.
func (r *renaming) dot(p imported) string {
	return r.s.mark("a dot import of " + importPath(p.spec) +
		": name the package where it is used, because its names are not looked at here")
}

// write writes imports, between parentheses if they are several.
func (r *renaming) write(texts map[*ast.ImportSpec]string) {
	for _, decl := range r.s.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}

		for _, one := range gen.Specs {
			one, _ := one.(*ast.ImportSpec)
			text, ours := texts[one]

			switch {
			case !ours:
			case !gen.Lparen.IsValid() && text == "":
				r.s.cutLine(gen)
			case !gen.Lparen.IsValid() && strings.Contains(text, "\n"):
				r.s.replace(gen, "import (\n"+text+"\n)")
			case text == "":
				r.s.cutLine(one)
			default:
				r.s.replace(one, text)
			}
		}
	}
}

// spec returns the text of an import.
func spec(local, to string) string {
	if local == path.Base(to) {
		return `"` + to + `"`
	}

	return local + ` "` + to + `"`
}

// target returns what becomes of a name.
func (r rules) target(u use) target {
	if others := r.within[u.of.there][u.expr.Sel.Name]; others != nil {
		for _, name := range u.within() {
			if t, ok := others[name]; ok {
				return t
			}
		}
	}

	t := r.names[u.of.there][u.expr.Sel.Name]
	if t.pkg == "" {
		t.pkg = u.of.here
	}

	return t
}

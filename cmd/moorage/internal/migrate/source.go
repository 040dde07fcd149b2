package migrate

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A step rewrites something in a file that uses the runtime.
type step func(m *migration, s *source, used imports)

// An imported is an import of a package of the runtime.
type imported struct {
	spec  *ast.ImportSpec
	local string // what the file calls it
	there string // the package, below the runtime's module
	here  string // the one here, as in the tables; empty if there is none
}

// Imports are those of a file, by the name that the file calls them by.
type imports map[string]imported

// source migrates a Go file. Its byte order mark and its line endings stay.
func (m *migration) source(name, text string) (after string, notes []note, err error) {
	bare, form := plain(text)

	after, notes, err = m.rewrite(name, bare)
	if err != nil {
		return "", nil, err
	}

	for _, line := range m.rules.named(after) {
		notes = append(notes, note{line, m.rules.advice()})
	}

	if after == bare {
		return text, notes, nil
	}

	return form(after), notes, nil
}

// rewrite migrates the text of a Go file.
func (m *migration) rewrite(name, text string) (after string, notes []note, err error) {
	s := &source{name: name}
	if s.text, err = formatted(text); err != nil {
		return "", nil, err
	}

	if err := s.parse(); err != nil {
		return "", nil, err
	}

	before := s.text
	packages := s.packages()
	steps := slices.Concat([]step{drops}, m.rules.steps, []step{calls, toolchain, renames})

	for _, step := range steps {
		step(m, s, m.runtime(s))

		if err := s.apply(); err != nil {
			return "", nil, err
		}
	}

	if s.text == before {
		return text, nil, nil
	}

	s.unused(packages)

	if err := s.apply(); err != nil {
		return "", nil, err
	}

	return s.finish()
}

// runtime returns what the file imports of the runtime.
func (m *migration) runtime(s *source) imports {
	out := imports{}

	for _, spec := range s.file.Imports {
		if there, here, found := m.rules.find(importPath(spec)); found {
			out[key(spec)] = imported{spec, localName(spec), there, here}
		}
	}

	return out
}

// key returns what a file calls a package, or its path if it does not call it.
func key(spec *ast.ImportSpec) string {
	if local := localName(spec); !anonymous(local) {
		return local
	}

	return importPath(spec)
}

// anonymous reports whether an import gives its package no name.
func anonymous(local string) bool { return local == "_" || local == "." }

func importPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)

	return path
}

// localName returns what a file calls a package: what it says, or what the path suggests.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}

	return packageName(importPath(spec))
}

// major is the end of the path of a module's later major version.
var major = regexp.MustCompile(`^v[0-9]+$`)

// packageName returns the name that a package of that path has, as a rule.
func packageName(full string) string {
	base := path.Base(full)
	if parent := path.Base(path.Dir(full)); major.MatchString(base) && !strings.Contains(full, "/apis/") &&
		parent != "." && parent != "api" {
		base = parent
	}

	base, _, _ = strings.Cut(base, ".")

	return strings.TrimPrefix(base, "go-")
}

// A use is a name of a package that the file uses.
type use struct {
	expr *ast.SelectorExpr
	path []ast.Node // from the file to what holds the name
	of   imported
}

// within returns the names of the functions, calls and fields that the use is in.
func (u use) within() []string {
	var out []string

	for _, n := range u.path {
		switch n := n.(type) {
		case *ast.FuncDecl:
			out = append(out, n.Name.Name)
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				out = append(out, sel.Sel.Name)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				out = append(out, key.Name)
			}
		}
	}

	return out
}

// uses returns where the file uses the packages.
func (s *source) uses(of imports) []use {
	var (
		out  []use
		path []ast.Node
	)

	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]

			return true
		}

		if name, sel := qualified(n); sel != nil {
			if p, ok := of[name]; ok {
				out = append(out, use{sel, slices.Clone(path), p})
			}
		}

		path = append(path, n)

		return true
	})

	return out
}

// qualified returns the package and the name of an expression package.Name.
func qualified(n ast.Node) (pkg string, sel *ast.SelectorExpr) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}

	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil { // what is declared in the file shadows a package
		return "", nil
	}

	return id.Name, sel
}

// packages returns the names that may be those of packages, with how often they are used.
func (s *source) packages() map[string]int {
	out := map[string]int{}

	ast.Inspect(s.file, func(n ast.Node) bool {
		if name, sel := qualified(n); sel != nil {
			out[name]++
		}

		return true
	})

	return out
}

// unused cuts the imports that were used before, and are not any more.
func (s *source) unused(before map[string]int) {
	now := s.packages()

	for _, decl := range s.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}

		var gone []ast.Node

		for _, spec := range gen.Specs {
			if spec, ok := spec.(*ast.ImportSpec); ok && before[localName(spec)] > 0 && now[localName(spec)] == 0 {
				gone = append(gone, spec)
			}
		}

		if len(gone) > 0 && len(gone) == len(gen.Specs) {
			gone = []ast.Node{gen}
		}

		for _, n := range gone {
			s.cutLine(n)
		}
	}
}

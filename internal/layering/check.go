// Package layering defines which packages of this repository may import which others. Its test checks the imports.
//
// Start at the table in table.go: it is the documentation.
package layering

import (
	"fmt"
	"slices"
	"strings"
)

// A pkg is a package in the output of `go list -json`.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// A place is the position of a package in the table.
type place struct {
	unit  unit
	name  string // the unit with its * filled in
	layer int    // 0 is the top
}

// A rules value is a table for the packages of one repository.
type rules struct {
	module string // path of the root module
	layers []layer
}

// check returns one line for each import that the table does not allow, and for each package that is not in the table.
func (r rules) check(pkgs []pkg) []string {
	var out []string
	for _, p := range pkgs {
		from, own := r.own(p.ImportPath)
		if !own {
			continue
		}
		at, known := r.find(from)
		if !known {
			out = append(out, fmt.Sprintf("%s has no row in the table", from))
			continue
		}
		out = append(out, r.imports(from, at, p.Imports)...)
		for _, to := range r.imports(from, at, slices.Concat(p.TestImports, p.XTestImports), testsMayImport...) {
			out = append(out, "test of "+to)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// imports checks the imports of one package, except those in free.
func (r rules) imports(from string, at place, imports []string, free ...string) []string {
	test := len(free) > 0
	var out []string
	for _, path := range imports {
		to, own := r.own(path)
		if slices.Contains(free, to) {
			continue
		}
		why := ""
		switch {
		case own:
			why = r.edge(at, to)
		case at.unit.alone && !test && !standard(path):
			why = "it imports nothing but the standard library"
		}
		if why != "" {
			out = append(out, fmt.Sprintf("%s (layer %s) imports %s: %s", from, r.layers[at.layer].name, to, why))
		}
	}
	return out
}

// edge returns why a package at this place may not import another one of this repository, or "" if it may.
func (r rules) edge(at place, to string) string {
	target, known := r.find(to)
	switch {
	case !known:
		return "the table does not know it"
	case target.name == at.name:
		return ""
	case at.unit.alone:
		return "it imports nothing but the standard library"
	case target.unit.alone && strings.HasPrefix(target.name, at.name+"/"):
		return ""
	case target.unit.sealed:
		return "no package imports that"
	case at.unit.outside && slices.Contains(strings.Split(to, "/"), "internal"):
		return "programs use only what is public"
	case target.layer == at.layer:
		return "siblings do not import each other"
	case target.layer < at.layer:
		return fmt.Sprintf("layer %s is above it", r.layers[target.layer].name)
	}
	return ""
}

// find returns the place of a package. If several patterns match the package, the longest one determines the place.
func (r rules) find(path string) (best place, known bool) {
	for i, l := range r.layers {
		for _, u := range l.units {
			name, fits := match(u.path, path)
			if fits && (!known || len(u.path) > len(best.unit.path)) {
				best, known = place{unit: u, name: name, layer: i}, true
			}
		}
	}
	return best, known
}

// own converts an import path of this repository to the path below its root. The package of a test binary counts as the
// package that it tests.
func (r rules) own(path string) (string, bool) {
	path, _, _ = strings.Cut(path, " ")
	if path == r.module {
		return ".", true
	}
	below, own := strings.CutPrefix(path, r.module+"/")
	if !own {
		return path, false
	}
	return below, true
}

// match returns whether the pattern matches the path, and the part of the path that names the unit.
func match(pattern, path string) (name string, fits bool) {
	pattern, deep := strings.CutSuffix(pattern, "/...")
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(have) < len(want) || (!deep && len(have) > len(want)) {
		return "", false
	}
	for i := range want {
		if want[i] != "*" && want[i] != have[i] {
			return "", false
		}
	}
	return strings.Join(have[:len(want)], "/"), true
}

// standard reports whether an import path belongs to the standard library: its first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

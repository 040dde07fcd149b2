package migrate

import "strings"

// An Origin is the runtime that a provider was written for.
type Origin string

// The origins there are.
const (
	KrateoV07    Origin = "krateo-v0.7"
	KrateoV09    Origin = "krateo-v0.9"
	CrossplaneV1 Origin = "crossplane-v1"
	CrossplaneV2 Origin = "crossplane-v2"
)

// Rules say what becomes of what a runtime exports.
type rules struct {
	module string // path of the runtime's module

	// packages has the package here for one there, both below their modules. A path with
	// a dot in its first element is that of a package which is not Moorage's. An empty
	// one has no package here: each of its names needs an entry of its own.
	packages map[string]string

	// same says that a package which is in no table is here under the same path.
	same func(pkg string) bool

	// also has packages of other modules that belong to the runtime, by their paths.
	also map[string]string

	// names has what becomes of names that are not simply the same, by package and name.
	names map[string]map[string]target

	// within has names that are another in functions, calls and fields of certain names: by
	// package, name, and that of what they are in.
	within map[string]map[string]map[string]target

	// fields are those of structs whose uses go with the statement that they are in.
	fields map[string]string

	// reported are fields whose uses stay and get a note.
	reported map[string]string

	// calls rewrite calls of a package's functions, by package and name.
	calls map[string]map[string]callTo

	// steps are further ones for each file, which know more than names.
	steps []step
}

// A target is what becomes of a name.
type target struct {
	pkg  string // package here; empty is the one of the table packages
	name string // empty is the same name
	drop bool   // the argument, the field or the statement that uses it goes
	note string // what a person has to decide
}

// A callTo says how a call is written here: $1 and $2 are its arguments, $p is the package.
type callTo struct {
	pkg  string
	form string
}

// find returns the package here for an import path there, and whether the path is the runtime's.
func (r rules) find(path string) (there, here string, found bool) {
	there, found = strings.CutPrefix(path, r.module+"/")
	if !found {
		if there, found = r.also[path]; !found {
			return "", "", false
		}
	}

	if here, ok := r.packages[there]; ok {
		return there, here, true
	}

	if r.same(there) {
		return there, there, true
	}

	return there, "", true
}

// full returns the import path of a package of the tables.
func full(pkg, module string) string {
	if below, ok := strings.CutPrefix(pkg, "./"); ok {
		return module + "/" + below
	}

	if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
		return pkg
	}

	return ours + "/" + pkg
}

// tables returns the rules of every origin.
func tables() map[Origin]rules {
	return map[Origin]rules{
		KrateoV07: krateo07(),
		KrateoV09: krateo09(),

		CrossplaneV1: crossplane1(),
		CrossplaneV2: crossplane2(),
	}
}

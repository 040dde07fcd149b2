// Package mergepatch makes, applies and inspects JSON merge patches (RFC 7386). Start with Between. No function
// changes its arguments.
package mergepatch

import (
	"maps"
	"reflect"
	"strings"
)

// Between returns the patch that changes from into to.
func Between(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key, want := range to {
		have, ok := from[key]
		if ok && reflect.DeepEqual(have, want) {
			continue
		}
		haveMap, a := have.(map[string]any)
		wantMap, b := want.(map[string]any)
		if a && b {
			patch[key] = Between(haveMap, wantMap)
		} else {
			patch[key] = want
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			patch[key] = nil
		}
	}

	return patch
}

// Apply returns base with a patch applied.
func Apply(base, patch map[string]any) map[string]any {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]any{}
	}
	for key, change := range patch {
		if change == nil {
			delete(result, key)

			continue
		}
		if changes, ok := change.(map[string]any); ok {
			below, _ := result[key].(map[string]any)
			result[key] = Apply(below, changes)
		} else {
			result[key] = change
		}
	}

	return result
}

// Merge returns one patch that has the effect of first and then second. Where both change a field, second wins.
func Merge(first, second map[string]any) map[string]any {
	both := maps.Clone(first)
	if both == nil {
		both = map[string]any{}
	}
	for key, change := range second {
		a, isMap := both[key].(map[string]any)
		if b, ok := change.(map[string]any); ok && isMap {
			both[key] = Merge(a, b)
		} else {
			both[key] = change
		}
	}

	return both
}

// Additions returns the part of a patch that sets fields which base does not have. A field counts as missing if it is
// absent, null, or has the same value as in blank. The argument blank is an object in which no field is set.
func Additions(base, blank, patch map[string]any) map[string]any {
	added := map[string]any{}
	for key, change := range patch {
		have, set := base[key]
		below, a := have.(map[string]any)
		changes, b := change.(map[string]any)
		unsetBelow, _ := blank[key].(map[string]any)
		unset, known := blank[key]
		switch {
		case change == nil:
		case !set || have == nil || known && reflect.DeepEqual(have, unset):
			added[key] = change
		case a && b:
			if more := Additions(below, unsetBelow, changes); len(more) > 0 {
				added[key] = more
			}
		}
	}

	return added
}

// Leaves returns the paths of the values that a patch sets.
func Leaves(patch map[string]any) []Path {
	var paths []Path
	for key, value := range patch {
		below, ok := value.(map[string]any)
		if !ok || len(below) == 0 {
			paths = append(paths, Path{key})

			continue
		}
		for _, path := range Leaves(below) {
			paths = append(paths, append(Path{key}, path...))
		}
	}

	return paths
}

// A Path is the list of the keys that lead to a field.
type Path []string

// String returns the keys of the path with dots between them.
func (p Path) String() string { return strings.Join(p, ".") }

// NewPath parses a path such as "atProvider.messages".
func NewPath(path string) Path {
	return strings.Split(path, ".")
}

// Without returns m without the fields of the paths. It also removes maps that become empty.
func Without(m map[string]any, paths []Path) map[string]any {
	result := maps.Clone(m)
	for _, path := range paths {
		result = cut(result, path)
	}

	return result
}

func cut(m map[string]any, path Path) map[string]any {
	value, ok := m[path[0]]
	if !ok {
		return m
	}
	result := maps.Clone(m)
	below, isMap := value.(map[string]any)
	if len(path) == 1 {
		delete(result, path[0])
	} else if isMap {
		if rest := cut(below, path[1:]); len(rest) > 0 {
			result[path[0]] = rest
		} else {
			delete(result, path[0])
		}
	}

	return result
}

// Missing returns the paths of the fields that want has and have does not have. Each path begins with the prefix.
func Missing(want, have map[string]any, prefix string) []string {
	var paths []string
	for key, value := range want {
		path := prefix + key
		other, ok := have[key]
		if !ok {
			paths = append(paths, path)

			continue
		}
		wantMap, a := value.(map[string]any)
		haveMap, b := other.(map[string]any)
		if a && b {
			paths = append(paths, Missing(wantMap, haveMap, path+".")...)
		}
	}

	return paths
}

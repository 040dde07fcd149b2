// Package mergepatch is for differences between JSON objects: JSON merge patches
// (RFC 7386) that are made, applied, and looked into. Start with Between. No
// function changes its arguments.
package mergepatch

import (
	"maps"
	"reflect"
	"strings"
)

// Between returns the patch that makes to of from.
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

// A Path leads to a field.
type Path []string

// NewPath reads a path such as "atProvider.messages".
func NewPath(path string) Path {
	return strings.Split(path, ".")
}

// Without returns m without what the paths lead to, and without maps that are
// empty then.
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

// Missing returns the paths, each after the prefix, of what want has and have has
// not.
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

package jsonpatch

import (
	"maps"
	"reflect"
)

// Merge returns what a merge patch (RFC 7386) makes of target, and whether it makes
// anything of it. Neither is changed: what changes is copied on the way.
func Merge(target, patch map[string]any) (map[string]any, bool) {
	out, changed := target, false
	set := func(key string, value any, remove bool) {
		if !changed {
			out, changed = clone(target), true
		}
		if remove {
			delete(out, key)
		} else {
			out[key] = value
		}
	}
	for key, value := range patch {
		old, had := target[key]
		switch nested, isMap := value.(map[string]any); {
		case value == nil && had:
			set(key, nil, true)
		case value == nil:
		case isMap:
			inner, was := old.(map[string]any)
			merged, differs := Merge(inner, nested)
			if merged == nil {
				merged = map[string]any{}
			}
			if differs || !was {
				set(key, merged, false)
			}
		case !had || !reflect.DeepEqual(old, value):
			set(key, value, false)
		}
	}

	return out, changed
}

func clone(m map[string]any) map[string]any {
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}

	return m
}

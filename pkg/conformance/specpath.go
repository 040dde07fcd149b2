package conformance

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// forProvider is the field of a spec to which the paths of differences are relative, if the spec has it.
const forProvider = "forProvider"

// A specPath leads to a field of a spec: names of fields, keys of maps, and elements of lists.
type specPath []string

// stepsOf returns the steps of the path of a difference, such as sources[0].name or labels["example.org/team"].
func stepsOf(path string) specPath {
	var out specPath
	for rest := path; rest != ""; {
		var one string
		if inside, ok := strings.CutPrefix(rest, "["); ok {
			one, rest = bracketed(inside)
		} else {
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			one, rest = rest[:end], rest[end:]
		}
		out = append(out, one)
	}

	return out
}

// bracketed returns what a text has up to a closing bracket, which may be a quoted key, and the rest.
func bracketed(text string) (inside, rest string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if strings.HasPrefix(text, `"`) && decoder.Decode(&inside) == nil {
		return inside, strings.TrimPrefix(text[decoder.InputOffset():], "]")
	}
	inside, rest, _ = strings.Cut(text, "]")

	return inside, rest
}

// overlaps reports whether one of two paths leads to the other, or into it.
func (p specPath) overlaps(other specPath) bool {
	n := min(len(p), len(other))

	return slices.Equal(p[:n], other[:n])
}

// isSetBy reports whether a changed path leads to, or into, a reference or selector that sets the field of p. For
// instance, databaseRef and databaseSelector set database, and roleRefs sets roles.
func (p specPath) isSetBy(changed specPath) bool {
	for i := range min(len(p), len(changed)) {
		if p[i] == changed[i] {
			continue
		}
		for _, suffix := range []string{"Ref", "Refs", "Selector"} {
			name, refers := strings.CutSuffix(changed[i], suffix)
			if refers && name != "" && (p[i] == name || suffix != "Ref" && p[i] == name+"s") {
				return true
			}
		}

		return false
	}

	return false
}

// rootOf returns the part of a spec to which the paths of differences are relative, and its path in the object.
func rootOf(mg resource.Managed) (root reflect.Value, name string) {
	spec := specOf(mg)
	if at, ok := jsonField(spec.Type(), forProvider); ok {
		return spec.FieldByIndex(at), "spec." + forProvider
	}

	return spec, "spec"
}

// rootName returns the path of the part of a spec to which the paths of differences are relative.
func rootName(mg resource.Managed) string {
	_, name := rootOf(mg)

	return name
}

// jsonField returns the index of the field of a struct that has a name in JSON.
func jsonField(t reflect.Type, name string) ([]int, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" {
			tag = f.Name
		}
		if tag == name && f.IsExported() {
			return f.Index, true
		}
	}

	return nil, false
}

// hasField reports whether the spec of mg may have a field with a path. A type that encodes itself may have any field.
func hasField(mg resource.Managed, path specPath) bool {
	root, _ := rootOf(mg)
	t := root.Type()
	for _, name := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		marshaler := reflect.TypeFor[json.Marshaler]()
		switch {
		case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) || t.Kind() == reflect.Interface:
			return true
		case t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
			t = t.Elem()
		default:
			at, ok := jsonField(t, name)
			if !ok {
				return false
			}
			t = t.FieldByIndex(at).Type
		}
	}

	return len(path) > 0
}

// changedFields returns the paths of the fields in which two specs differ. A list is one field.
func changedFields(a, b resource.Managed) []specPath {
	decoded := func(mg resource.Managed) (out any) {
		root, _ := rootOf(mg)
		if data, err := json.Marshal(root.Interface()); err == nil {
			_ = json.Unmarshal(data, &out)
		}

		return out
	}

	return appendChanged(nil, nil, decoded(a), decoded(b))
}

// appendChanged appends the paths at which two decoded values differ.
func appendChanged(to []specPath, at specPath, a, b any) []specPath {
	x, isMap := a.(map[string]any)
	y, areMaps := b.(map[string]any)
	switch {
	case reflect.DeepEqual(a, b):
		return to
	case !isMap || !areMaps:
		return append(to, slices.Clone(at))
	}
	keys := map[string]bool{}
	for key := range x {
		keys[key] = true
	}
	for key := range y {
		keys[key] = true
	}
	for key := range keys {
		to = appendChanged(to, append(slices.Clip(at), key), x[key], y[key])
	}

	return to
}

// fieldNames returns the sorted paths, for a message.
func fieldNames(paths []specPath) string {
	var out []string
	for _, p := range paths {
		out = append(out, strings.Join(p, "."))
	}
	slices.Sort(out)

	return quoted(strings.Join(out, ", "))
}

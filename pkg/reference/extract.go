package reference

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// An ExtractValueFn returns the value that a reference to the object means, or
// nothing while the object does not have it. It must not change the object. The
// functions of this package may be called concurrently.
type ExtractValueFn func(o client.Object) string

// ExternalName extracts the external name of a managed resource.
func ExternalName() ExtractValueFn {
	return func(o client.Object) string { return meta.GetExternalName(o) }
}

// Typed extracts with a function that wants an object of a certain type, be it a
// struct such as *Stream or an interface such as resource.Managed. An object of
// another type has no value.
func Typed[T client.Object](extract func(T) string) ExtractValueFn {
	return func(o client.Object) string {
		t, ok := o.(T)
		if !ok {
			return ""
		}

		return extract(t)
	}
}

// Field extracts the field with the supplied path in the object's JSON, such as
//
//	status.atProvider.arn
//	status.addresses[0].host
//	metadata.annotations[example.org/id]
//
// Text is taken as it is, numbers and booleans as JSON writes them. What is not
// there, and what is an object or a list, has no value. Field panics if the path
// is malformed: that is a mistake in the program. ParseField does not.
func Field(path string) ExtractValueFn {
	extract, err := ParseField(path)
	if err != nil {
		panic(err)
	}

	return extract
}

// ParseField is Field for a path that is not known when the program is written.
func ParseField(path string) (ExtractValueFn, error) {
	segments, err := parse(path)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot parse the field path %s", shown(path))
	}

	return func(o client.Object) string {
		image, err := imageOf(o)
		if err != nil {
			return ""
		}

		return text(walk(image, segments))
	}, nil
}

// ExtractParamPath extracts status.atProvider.PATH if the value is observed, and
// spec.forProvider.PATH otherwise. Like Field it panics if the path is malformed.
func ExtractParamPath(path string, isObservation bool) ExtractValueFn {
	if isObservation {
		return Field("status.atProvider." + path)
	}

	return Field("spec.forProvider." + path)
}

// imageOf returns the JSON of the object. It shares with the object what can be
// shared.
func imageOf(o client.Object) (map[string]any, error) {
	if u, ok := o.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}

	return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
}

// parse splits a path into the keys and indices on the way. A key in brackets
// may hold anything but a closing bracket.
func parse(path string) ([]string, error) {
	var out []string

	for rest := path; ; {
		segment, after, err := first(rest)
		if err != nil {
			return nil, err
		}
		out = append(out, segment)

		switch {
		case after == "":
			return out, nil
		case after[0] == '.':
			rest = after[1:]
			if rest == "" || rest[0] == '[' {
				return nil, errors.New("a dot must be followed by a name")
			}
		case after[0] == '[':
			rest = after
		default:
			return nil, errors.New("a bracket must be followed by a dot or another bracket")
		}
	}
}

// first returns the first segment of a path and what follows it.
func first(path string) (segment, after string, err error) {
	if inside, ok := strings.CutPrefix(path, "["); ok {
		segment, after, ok = strings.Cut(inside, "]")
		if !ok {
			return "", "", errors.New("a bracket is not closed")
		}
	} else {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		segment, after = path[:end], path[end:]
	}

	if segment == "" {
		return "", "", errors.New("a name is empty")
	}

	return segment, after, nil
}

// walk follows the segments: keys of objects, and indices of lists.
func walk(value any, segments []string) any {
	for _, s := range segments {
		switch v := value.(type) {
		case map[string]any:
			value = v[s]
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}

	return value
}

// text returns a scalar as text.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

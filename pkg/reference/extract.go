package reference

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// An ExtractValueFn returns the value of a reference from the referenced object. It returns "" while the object does
// not have the value. It must not change the object. The functions of this package are safe for concurrent use.
type ExtractValueFn func(o client.Object) string

// ExternalName extracts the external name of a managed resource.
func ExternalName() ExtractValueFn {
	return func(o client.Object) string { return meta.GetExternalName(o) }
}

// Typed returns a function that calls extract for an object of type T, and returns "" for objects of other types. T is
// a pointer to a struct, such as *Stream, or an interface, such as resource.Managed.
func Typed[T client.Object](extract func(T) string) ExtractValueFn {
	return func(o client.Object) string {
		t, ok := o.(T)
		if !ok {
			return ""
		}

		return extract(t)
	}
}

// Field returns a function that extracts the field at a path in the object's JSON, such as
//
//	status.atProvider.arn
//	status.addresses[0].host
//	metadata.annotations[example.org/id]
//
// A string is returned unchanged. A number or boolean is returned as in JSON. For a missing field, an object or a list
// the function returns "". Field panics if the path is malformed. Use ParseField to get an error instead.
func Field(path string) ExtractValueFn {
	extract, err := ParseField(path)
	if err != nil {
		panic(err)
	}

	return extract
}

// ParseField is like Field, but returns an error if the path is malformed.
func ParseField(path string) (ExtractValueFn, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot parse the field path %s", quote(path))
	}

	return func(o client.Object) string {
		image, err := unstructuredOf(o)
		if err != nil {
			return ""
		}

		return scalarText(lookup(image, segments))
	}, nil
}

// ExtractParamPath returns Field for status.atProvider.PATH if isObservation is true, and for spec.forProvider.PATH
// otherwise. Like Field it panics if the path is malformed.
func ExtractParamPath(path string, isObservation bool) ExtractValueFn {
	if isObservation {
		return Field("status.atProvider." + path)
	}

	return Field("spec.forProvider." + path)
}

// unstructuredOf returns the object as unstructured content. The result may share memory
// with the object.
func unstructuredOf(o client.Object) (map[string]any, error) {
	if u, ok := o.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}

	return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
}

// parsePath splits a path into keys and indices. A key in brackets may contain any characters except a closing bracket.
func parsePath(path string) ([]string, error) {
	var out []string

	for rest := path; ; {
		segment, after, err := nextSegment(rest)
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

// nextSegment returns the first segment of a path and the rest.
func nextSegment(path string) (segment, after string, err error) {
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

// lookup returns the value at the segments, which are keys of objects and indices of
// lists.
func lookup(value any, segments []string) any {
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

// scalarText returns the text of a scalar, or "" for another value.
func scalarText(value any) string {
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

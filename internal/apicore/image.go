package apicore

import (
	"maps"
	"slices"
)

// Fields of an image that are handled separately.
const (
	FieldMetadata = "metadata"
	FieldStatus   = "status"
)

// Metadata returns the metadata of an image, or nil if it has none.
func Metadata(image map[string]any) map[string]any {
	m, _ := image[FieldMetadata].(map[string]any)

	return m
}

// Name returns the name in the metadata of an image, or "".
func Name(image map[string]any) string {
	name, _ := Metadata(image)["name"].(string)

	return name
}

// Clone returns a shallow copy of a map. For nil it returns an empty map.
func Clone(m map[string]any) map[string]any {
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}

	return m
}

// WithMetadata returns a shallow copy of an image, with a shallow copy of its metadata.
func WithMetadata(image map[string]any) map[string]any {
	image = Clone(image)
	image[FieldMetadata] = Clone(Metadata(image))

	return image
}

// Equal reports whether a and b are equal. Both are JSON values: images, or values in images. For these, Equal returns
// the same as reflect.DeepEqual, and is several times as fast.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for key, value := range a {
			if same, has := other[key]; !has || !Equal(value, same) {
				return false
			}
		}

		return true
	case []any:
		other, ok := b.([]any)

		return ok && slices.EqualFunc(a, other, Equal)
	default:
		return a == b
	}
}

// sameBody returns whether two images differ at most in metadata and status.
func sameBody(a, b map[string]any) bool {
	for _, m := range [][2]map[string]any{{a, b}, {b, a}} {
		for key, value := range m[0] {
			if key != FieldMetadata && key != FieldStatus && !Equal(value, m[1][key]) {
				return false
			}
		}
	}

	return true
}

// copyField copies a field from another map. If the other map does not have the field, copyField removes it.
func copyField(to, from map[string]any, field string) {
	if value, ok := from[field]; ok {
		to[field] = value
	} else {
		delete(to, field)
	}
}

// dropEmpty removes annotations, labels, finalizers and owner references that are empty
// from metadata, as metav1.ObjectMeta does when it is encoded.
func dropEmpty(m map[string]any) {
	for _, key := range []string{"annotations", "labels", "finalizers", "ownerReferences"} {
		switch value := m[key].(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			if len(value) == 0 {
				delete(m, key)
			}
		case []any:
			if len(value) == 0 {
				delete(m, key)
			}
		}
	}
}

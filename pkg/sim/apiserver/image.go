package apiserver

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Images are JSON objects. They are shared between versions, and never changed
// after they were stored: who changes one copies the maps on the way.

func decodeJSON(data []byte) (map[string]any, error) {
	var image map[string]any
	if err := json.Unmarshal(data, &image); err != nil {
		return nil, errors.Wrap(err, "cannot decode")
	}

	return image, nil
}

// metadata returns the metadata of an image, or an empty map.
func metadata(image map[string]any) map[string]any {
	m, _ := image["metadata"].(map[string]any)

	return m
}

// withMetadata returns an image whose metadata may be changed.
func withMetadata(image map[string]any) map[string]any {
	image = clone(image)
	image["metadata"] = clone(metadata(image))

	return image
}

func clone(m map[string]any) map[string]any {
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}

	return m
}

// equal says whether two values of an image are the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for key, value := range a {
			if same, has := other[key]; !has || !equal(value, same) {
				return false
			}
		}

		return true
	case []any:
		other, ok := b.([]any)

		return ok && slices.EqualFunc(a, other, equal)
	default:
		return a == b
	}
}

// without returns the image without what is at a path.
func without(image map[string]any, path []string) map[string]any {
	value, ok := image[path[0]]
	if !ok {
		return image
	}
	if len(path) == 1 {
		image = clone(image)
		delete(image, path[0])

		return image
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return image
	}
	if less := without(inner, path[1:]); !equal(less, inner) {
		image = clone(image)
		image[path[0]] = less
	}

	return image
}

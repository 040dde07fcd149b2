package apiserver

import (
	"maps"
	"reflect"

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

// Metadata returns the metadata of an image, or an empty map.
func metadata(image map[string]any) map[string]any {
	m, _ := image["metadata"].(map[string]any)

	return m
}

// WithMetadata returns an image whose metadata may be changed.
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

// Without returns the image without what is at a path.
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
	if less := without(inner, path[1:]); len(less) != len(inner) || !reflect.DeepEqual(less, inner) {
		image = clone(image)
		image[path[0]] = less
	}

	return image
}

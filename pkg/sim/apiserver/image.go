package apiserver

import (
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Images are JSON objects. Versions share them, and they do not change after they were stored. Code that changes one
// copies the maps on the path to the change.

func decodeJSON(data []byte) (map[string]any, error) {
	var image map[string]any
	if err := json.Unmarshal(data, &image); err != nil {
		return nil, errors.Wrap(err, "cannot decode")
	}

	return image, nil
}

// without returns the image with the value at a path removed.
func without(image map[string]any, path []string) map[string]any {
	value, ok := image[path[0]]
	if !ok {
		return image
	}
	if len(path) == 1 {
		image = apicore.Clone(image)
		delete(image, path[0])

		return image
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return image
	}
	if less := without(inner, path[1:]); !apicore.Equal(less, inner) {
		image = apicore.Clone(image)
		image[path[0]] = less
	}

	return image
}

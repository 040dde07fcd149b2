package apicore

import (
	"encoding/json"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // what kube-apiserver uses: docs/adr/0009-json-patch.md
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/internal/mergepatch"
)

// applyPatch returns the image of an object with a merge patch (RFC 7386) or a JSON
// patch (RFC 6902) applied. It does not change the image. Errors are those of an
// API server: 400 for a patch that cannot be decoded, 422 for a JSON patch that
// does not apply to this image, and 415 for patches of any other type.
func applyPatch(of schema.GroupResource, name string, image map[string]any, t types.PatchType,
	data []byte) (map[string]any, error) {
	switch t {
	case types.MergePatchType:
		var changes map[string]any
		if err := kjson.Unmarshal(data, &changes); err != nil {
			return nil, kerrors.NewBadRequest(err.Error())
		}

		return mergepatch.Apply(image, changes), nil
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, kerrors.NewBadRequest(err.Error())
		}
		patched, err := applyOperations(image, operations)
		if err != nil {
			return nil, kerrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", of, name,
				err.Error(), 0, false)
		}

		return patched, nil
	default:
		return nil, kerrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", of, name,
			"the body of the request was in an unknown format", 0, false)
	}
}

// applyOperations returns the image that results from the operations of a JSON patch.
func applyOperations(image map[string]any, operations jsonpatch.Patch) (map[string]any, error) {
	encoded, err := json.Marshal(image)
	if err != nil {
		return nil, err
	}
	if encoded, err = operations.Apply(encoded); err != nil {
		return nil, err
	}
	var patched map[string]any
	if err := kjson.Unmarshal(encoded, &patched); err != nil {
		return nil, err
	}

	return patched, nil
}

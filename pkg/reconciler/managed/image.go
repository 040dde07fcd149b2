package managed

import (
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Image returns an object as the API server sees it. Differences are taken on
// images: a Go value has fields that are not sent.
func image(mg resource.Managed) (map[string]any, error) {
	return roundTrip[map[string]any](mg)
}

// RoundTrip returns what a value is as JSON, read as a T.
func roundTrip[T any](value any) (T, error) {
	var result T
	data, err := json.Marshal(value)
	if err != nil {
		return result, errors.Wrap(err, "cannot encode")
	}

	return result, errors.Wrap(json.Unmarshal(data, &result), "cannot decode")
}

// StatusImage returns what of an image the status subresource stores.
func statusImage(mg resource.Managed) (map[string]any, error) {
	m, err := image(mg)
	if err != nil {
		return nil, err
	}
	status, _ := m["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}

	return status, nil
}

// LateFields returns the merge patch of what differs between two versions of an
// object apart from metadata and status.
func lateFields(before, after resource.Managed) (map[string]any, error) {
	from, err := image(before)
	if err != nil {
		return nil, err
	}
	to, err := image(after)
	if err != nil {
		return nil, err
	}
	for _, m := range []map[string]any{from, to} {
		delete(m, "metadata")
		delete(m, "status")
		delete(m, "apiVersion")
		delete(m, "kind")
	}

	return mergepatch.Between(from, to), nil
}

func lateInitialized(before, after resource.Managed) bool {
	fields, err := lateFields(before, after)

	return err != nil || len(fields) > 0
}

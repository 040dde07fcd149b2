package managed

import (
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
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

	return mergePatch(from, to), nil
}

func lateInitialized(before, after resource.Managed) bool {
	fields, err := lateFields(before, after)

	return err != nil || len(fields) > 0
}

// MergePatch returns the JSON merge patch (RFC 7386) that makes to of from.
func mergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key, want := range to {
		have, ok := from[key]
		if ok && reflect.DeepEqual(have, want) {
			continue
		}
		haveMap, a := have.(map[string]any)
		wantMap, b := want.(map[string]any)
		if a && b {
			patch[key] = mergePatch(haveMap, wantMap)
		} else {
			patch[key] = want
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			patch[key] = nil
		}
	}

	return patch
}

// Merged returns base with a merge patch applied.
func merged(base, patch map[string]any) map[string]any {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]any{}
	}
	for key, change := range patch {
		if change == nil {
			delete(result, key)

			continue
		}
		if changes, ok := change.(map[string]any); ok {
			below, _ := result[key].(map[string]any)
			result[key] = merged(below, changes)
		} else {
			result[key] = change
		}
	}

	return result
}

// A fieldPath leads to a field below the status.
type fieldPath []string

func newFieldPath(path string) fieldPath {
	return strings.Split(strings.TrimPrefix(path, "status."), ".")
}

// Without returns m without what the paths lead to, and without maps that are
// empty then.
func without(m map[string]any, paths []fieldPath) map[string]any {
	result := maps.Clone(m)
	for _, path := range paths {
		result = cut(result, path)
	}

	return result
}

func cut(m map[string]any, path fieldPath) map[string]any {
	value, ok := m[path[0]]
	if !ok {
		return m
	}
	result := maps.Clone(m)
	below, isMap := value.(map[string]any)
	if len(path) == 1 {
		delete(result, path[0])
	} else if isMap {
		if rest := cut(below, path[1:]); len(rest) > 0 {
			result[path[0]] = rest
		} else {
			delete(result, path[0])
		}
	}

	return result
}

// Missing returns the paths of what want has and have has not.
func missing(want, have map[string]any, prefix string) []string {
	var paths []string
	for key, value := range want {
		path := prefix + key
		other, ok := have[key]
		if !ok {
			paths = append(paths, path)

			continue
		}
		wantMap, a := value.(map[string]any)
		haveMap, b := other.(map[string]any)
		if a && b {
			paths = append(paths, missing(wantMap, haveMap, path+".")...)
		}
	}

	return paths
}

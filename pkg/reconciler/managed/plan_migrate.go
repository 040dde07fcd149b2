package managed

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A fieldSet is the set of the fields of a field manager, in the form of the API server (FieldsV1): "f:name" is the
// field of an object, "k:{...}" the item of a list with these keys, "v:..." an item of a set, and "." the object or the
// item itself. A field without others in it belongs to the field manager with all that it has.
type fieldSet map[string]fieldSet

// withoutFormer returns the result of a server-side apply without the fields that only a former kubectl apply has set.
// Like kubectl, it counts fields of kubectl apply without --server-side as those of the field manager: they are removed
// if the manifest no longer has them. It returns nil if there are none.
func withoutFormer(tried *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	var former, others []fieldSet
	for _, entry := range tried.GetManagedFields() {
		var set fieldSet
		if entry.FieldsV1 != nil {
			if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
				return nil, errors.Wrapf(err, "cannot read the fields of the field manager %q", entry.Manager)
			}
		}
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && entry.Manager != manager &&
			set.isClientSide() {
			former = append(former, set)
		} else {
			others = append(others, set)
		}
	}
	left := tried.DeepCopy()
	for _, set := range former {
		set.removeFrom(left.Object, others)
	}
	if reflect.DeepEqual(left.Object, tried.Object) {
		return nil, nil
	}

	return left, nil
}

// isClientSide reports whether kubectl apply without --server-side has set the fields: it sets an annotation.
func (s fieldSet) isClientSide() bool {
	_, is := s["f:metadata"]["f:annotations"]["f:"+corev1.LastAppliedConfigAnnotation]

	return is
}

// removeFrom removes the fields of an object that no other set has.
func (s fieldSet) removeFrom(object map[string]any, others []fieldSet) {
	for key, fields := range s {
		name, isField := strings.CutPrefix(key, "f:")
		kept := within(others, key)
		switch value := object[name].(type) {
		case map[string]any:
			fields.removeFrom(value, kept)
			if len(kept) == 0 && (len(fields) == 0 || fields.owns() && len(value) == 0) {
				delete(object, name)
			}
		case []any:
			if rest := fields.removeItems(value, kept); len(kept) > 0 || len(rest) > 0 && len(fields) > 0 {
				object[name] = rest
			} else {
				delete(object, name)
			}
		default:
			if isField && len(kept) == 0 {
				delete(object, name)
			}
		}
	}
}

// removeItems returns the items of a list without those that no other set has, and without their fields that no other
// set has.
func (s fieldSet) removeItems(items []any, others []fieldSet) (rest []any) {
	rest = []any{}
	for _, item := range items {
		key := s.keyOf(item)
		kept := within(others, key)
		object, isObject := item.(map[string]any)
		switch {
		case key != "" && len(kept) == 0:
			continue
		case key != "" && isObject:
			s[key].removeFrom(object, kept)
		}
		rest = append(rest, item)
	}

	return rest
}

// keyOf returns the key of an item of a list, or nothing if the set does not have it.
func (s fieldSet) keyOf(item any) string {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		var want any
		kind, data, _ := strings.Cut(key, ":")
		if kjson.Unmarshal([]byte(data), &want) != nil {
			continue
		}
		object, _ := item.(map[string]any)
		keys, _ := want.(map[string]any)
		switch {
		case kind == "v" && reflect.DeepEqual(want, item):
			return key
		case kind == "k" && !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(name string) bool {
			return !reflect.DeepEqual(keys[name], object[name])
		}):
			return key
		}
	}

	return ""
}

// owns reports whether the set has the object itself.
func (s fieldSet) owns() bool {
	_, owns := s["."]

	return owns
}

// within returns the parts of the sets below a key.
func within(sets []fieldSet, key string) (below []fieldSet) {
	for _, set := range sets {
		if fields, has := set[key]; has {
			below = append(below, fields)
		}
	}

	return below
}

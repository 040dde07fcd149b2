// Package fields is for server-side apply: it makes the body from an object that was changed in place, and says what
// applying a body removes. What is applied must be all that the manager owns, or the API server removes the rest; so
// the body is what the manager owned already, as it is now, and what was changed.
package fields

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Set is a decoded FieldsV1: "f:name" leads to a field, "." is the map itself.
type Set map[string]any

// Owners say who owns what of an object.
type Owners struct {
	Mine   Set   // what the manager owns through server-side apply
	others []Set // what everybody else owns, the manager's other ways of writing included
}

// Of returns who owns what for the manager in that version of the kind, and whether
// that can be told: the manager may not have applied yet, or in another version.
func Of(entries []metav1.ManagedFieldsEntry, manager, apiVersion string) (Owners, bool) {
	var o Owners
	for _, e := range entries {
		set := Set{}
		if e.FieldsV1 == nil || e.APIVersion != apiVersion || json.Unmarshal(e.FieldsV1.GetRawBytes(), &set) != nil {
			return Owners{}, false
		}
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			o.Mine = set
		} else {
			o.others = append(o.others, set)
		}
	}
	return o, o.Mine != nil
}

// Project returns what of an object is in the set. Lists are taken whole: their
// items may belong to several managers, and an item that is sent as it is changes
// nothing.
func (s Set) Project(object map[string]any) map[string]any {
	out := map[string]any{}
	for key, sub := range s {
		name, isField := strings.CutPrefix(key, "f:")
		value, there := object[name]
		if !isField || !there {
			continue
		}
		out[name] = set(sub).value(value)
	}
	return out
}

func (s Set) value(v any) any {
	object, isObject := v.(map[string]any)
	if !isObject || len(s) == 0 {
		return v
	}
	return s.Project(object)
}

func set(v any) Set {
	m, _ := v.(map[string]any)
	return m
}

// Remove reports whether applying without the fields that the patch sets to null removes them:
// they are all the manager's, and nobody else's.
func (o Owners) Remove(patch, before map[string]any) bool {
	for name, change := range patch {
		sub := o.below("f:" + name)
		switch c := change.(type) {
		case nil:
			if _, mine := o.Mine["f:"+name]; !mine || len(sub.others) > 0 ||
				!reflect.DeepEqual(sub.Mine.value(before[name]), before[name]) {
				return false
			}
		case map[string]any:
			parts, _ := before[name].(map[string]any)
			if !sub.Remove(c, parts) {
				return false
			}
		}
	}
	return true
}

// Prune removes from an object what applying a body removes: fields that the manager
// owns, nobody else does, and the body does not have. Lists stay as they are.
func (o Owners) Prune(object, body map[string]any) {
	for key := range o.Mine {
		name, isField := strings.CutPrefix(key, "f:")
		value, there := object[name]
		if !isField || !there {
			continue
		}
		sub := o.below(key)
		applied, sent := body[name]
		parts, isObject := value.(map[string]any)
		if !sent && len(sub.others) == 0 && (!isObject || reflect.DeepEqual(sub.Mine.value(value), value)) {
			delete(object, name)
			continue
		}
		below, _ := applied.(map[string]any)
		if isObject && (!sent || below != nil) {
			sub.Prune(parts, below)
		}
	}
}

func (o Owners) below(field string) Owners {
	out := Owners{Mine: set(o.Mine[field])}
	for _, other := range o.others {
		if sub, owned := other[field]; owned {
			out.others = append(out.others, set(sub))
		}
	}
	return out
}

// Overlay puts into the body what the merge patch changes, as it is in the object
// after it.
func Overlay(body, patch, after map[string]any) {
	for name, change := range patch {
		value, there := after[name]
		if !there {
			continue
		}
		c, changesParts := change.(map[string]any)
		object, isObject := value.(map[string]any)
		if !changesParts || !isObject || len(c) == 0 {
			body[name] = value
			continue
		}
		below, ok := body[name].(map[string]any)
		if !ok {
			below = map[string]any{}
		}
		Overlay(below, c, object)
		body[name] = below
	}
}

// Package fields prepares server-side apply for an object that was changed in place. It builds the body of the request,
// and determines which fields the request removes. The API server removes the fields that the manager owns and the body
// lacks. Therefore the body consists of the fields that the manager already owned, with their current values, and of
// the changed fields.
package fields

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Set is a decoded FieldsV1. The key "f:name" has the set of a field, and the key "." stands for the map itself.
type Set map[string]any

// Owners are the owners of the fields of an object.
type Owners struct {
	Mine   Set   // fields that the manager owns through server-side apply
	others []Set // fields of each other owner, and of the manager by other operations
}

// Of returns the owners of the fields, separated into the manager and all others, for an apiVersion of the kind. It
// returns false if they are unknown: the manager has not applied yet, or an entry has another apiVersion.
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

// Project returns the fields of an object that are in the set. It includes complete lists. The items of a list may
// belong to several managers, but applying an unchanged item changes nothing.
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

// Remove returns whether a request without the fields that the patch sets to null removes all of them. It does if the
// manager is their only owner.
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

// Prune removes from an object the fields that a request with the body removes. They are the fields that only the
// manager owns and the body lacks. Prune does not change lists.
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

// Overlay copies the fields that the merge patch changes from the patched object to the body.
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

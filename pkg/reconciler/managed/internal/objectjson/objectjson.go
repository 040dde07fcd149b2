// Package objectjson computes the JSON of managed resources, and the merge patches between two versions of one. Start
// with Of, and with StatusOf for the part that the status subresource stores. All functions are pure, and may be called
// concurrently.
//
// A pass compares the status at its beginning with the status at its end. Nearly always only conditions differ. Most of
// the package avoids encoding the other fields of a status again.
package objectjson

import (
	stdjson "encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Equal reports whether two versions of an object are equal. Nearly always they are equal bit by bit, which costs a
// third of the semantic comparison.
func Equal(a, b resource.Managed) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// StatusLike is StatusOf for another version of an object whose status is known. Most passes change only conditions,
// and the results then share the other fields.
func StatusLike(mg, other resource.Managed, image Status) (Status, error) {
	is, _ := StatusPart(mg) // no patch is computed from a missing status
	was, _ := StatusPart(other)
	rest, conditions, ok := apart(is)
	before, _, comparable := withoutConditions(was)
	if !ok || !comparable || !reflect.DeepEqual(rest, before) {
		return StatusOf(mg)
	}

	return Status{image.Fields, conditions}, nil
}

// A Status is the JSON of the part of an object that the status subresource stores.
type Status struct {
	Fields     map[string]any // without the conditions
	Conditions []commonv1.Condition
}

// StatusOf returns the status of an object as JSON. It encodes and decodes only the fields besides the conditions,
// which takes a fraction of the time: in most objects the conditions are the larger part, and their JSON differs only
// in times.
func StatusOf(mg resource.Managed) (Status, error) {
	field, err := statusField(mg)
	rest, conditions, ok := apart(field)
	switch {
	case err != nil:
		return Status{}, err
	case !ok:
		return imageOf(field)
	}
	fields, err := fieldsOf(rest)

	return Status{fields, conditions}, err
}

// statusField returns the value that the field status of an object is encoded from. It is a part of most types; of
// others it is looked up in the image.
func statusField(mg resource.Managed) (any, error) {
	part, ok := StatusPart(mg)
	if !ok {
		m, err := Of(mg)

		return m["status"], err
	}

	return part, nil
}

// apart splits a status into a copy without its conditions, and the conditions as they are in the JSON. It returns
// false if the conditions are not in a field of the usual type, or if their JSON differs.
func apart(status any) (any, []commonv1.Condition, bool) {
	rest, conditions, ok := withoutConditions(status)
	if ok {
		conditions, ok = decoded(conditions)
	}

	return rest, conditions, ok
}

// withoutConditions splits a status into a copy without its conditions, and the conditions as they are. It returns
// false if they are not in a field of the usual type.
func withoutConditions(status any) (any, []commonv1.Condition, bool) {
	v := reflect.ValueOf(status)
	if _, special := status.(stdjson.Marshaler); special || v.Kind() != reflect.Pointer ||
		v.Elem().Kind() != reflect.Struct {
		return nil, nil, false
	}
	at, ok := conditionsField(v.Elem().Type())
	if !ok {
		return nil, nil, false
	}
	rest := reflect.New(v.Elem().Type())
	rest.Elem().Set(v.Elem())
	field := rest.Elem().FieldByIndex(at)
	conditions, ok := field.Interface().([]commonv1.Condition)
	if !ok {
		return nil, nil, false
	}
	field.SetZero()

	return rest.Interface(), conditions, true
}

// decoded returns conditions as if decoded from JSON, with times in seconds. It returns false if encoding would
// change a text.
func decoded(conditions []commonv1.Condition) ([]commonv1.Condition, bool) {
	if len(conditions) == 0 {
		return nil, true
	}
	out := make([]commonv1.Condition, 0, len(conditions))
	for _, c := range conditions {
		for _, text := range []string{string(c.Type), string(c.Status), string(c.Reason), c.Message} {
			if !utf8.ValidString(text) {
				return nil, false
			}
		}
		if t := c.LastTransitionTime; t.IsZero() {
			c.LastTransitionTime = metav1.Time{}
		} else {
			c.LastTransitionTime = metav1.NewTime(t.Truncate(time.Second).Local())
		}
		out = append(out, c)
	}

	return out, true
}

// imageOf returns the JSON of a status.
func imageOf(status any) (Status, error) {
	fields, err := roundTrip[map[string]stdjson.RawMessage](status)
	if err != nil {
		return Status{}, err
	}
	s := Status{Fields: make(map[string]any, len(fields))}
	for key, data := range fields {
		if key == "conditions" {
			err = json.Unmarshal(data, &s.Conditions)
		} else {
			var value any
			err = json.Unmarshal(data, &value)
			s.Fields[key] = value
		}
		if err != nil {
			return Status{}, errors.Wrap(err, "cannot decode")
		}
	}

	return s, nil
}

// fieldsOf returns the JSON of a status that has no conditions.
func fieldsOf(rest any) (map[string]any, error) {
	fields, err := roundTrip[map[string]any](rest)
	delete(fields, "conditions")

	return fields, err
}

// ConditionsOf returns the conditions of an object themselves, not a copy, or nil if they are not in the usual
// field.
func ConditionsOf(mg resource.Managed) []commonv1.Condition {
	status, ok := StatusPart(mg)
	if !ok {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(status))
	if v.Kind() != reflect.Struct {
		return nil
	}
	at, ok := conditionsField(v.Type())
	if !ok {
		return nil
	}
	conditions, _ := v.FieldByIndex(at).Interface().([]commonv1.Condition)

	return conditions
}

// StatusPart returns a pointer to the part of an object that its status is encoded from, if there is one.
func StatusPart(mg resource.Managed) (any, bool) {
	v := reflect.Indirect(reflect.ValueOf(mg))
	if _, special := mg.(stdjson.Marshaler); !special && v.Kind() == reflect.Struct && v.CanAddr() {
		for i := v.NumField() - 1; i >= 0; i-- { // the status is the last field, as a rule
			f := v.Type().Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == "status" && f.IsExported() {
				return v.Field(i).Addr().Interface(), true
			}
		}
	}

	return nil, false
}

// conditionsField returns the index of the field that conditions are encoded from, which may be one of an embedded
// type.
func conditionsField(t reflect.Type) ([]int, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "conditions" && f.IsExported():
			return []int{i}, true
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			if inner, ok := conditionsField(f.Type); ok {
				return append([]int{i}, inner...), true
			}
		}
	}

	return nil, false
}

// PatchTo returns the merge patch from s to another status. The patch has all conditions or none, because they are a
// list.
func (s Status) PatchTo(other Status) map[string]any {
	patch := mergepatch.Between(s.Fields, other.Fields)
	switch {
	case len(s.Conditions) == 0 && len(other.Conditions) == 0 || reflect.DeepEqual(s.Conditions, other.Conditions):
	case len(other.Conditions) == 0:
		patch["conditions"] = nil
	default:
		patch["conditions"] = other.Conditions
	}

	return patch
}

// Fields returns the merge patch between two versions of an object without metadata and status.
func Fields(before, after resource.Managed) (map[string]any, error) {
	all, err := Contents(before, after)
	if err != nil {
		return nil, err
	}

	return mergepatch.Between(all[0], all[1]), nil
}

// Contents returns the JSON of objects without metadata and status.
func Contents(objects ...resource.Managed) (all []map[string]any, err error) {
	for _, mg := range objects {
		m, err := Of(mg)
		if err != nil {
			return nil, err
		}
		delete(m, "metadata")
		delete(m, "status")
		delete(m, "apiVersion")
		delete(m, "kind")
		all = append(all, m)
	}

	return all, nil
}

// Of returns the JSON of an object, as the API server gets it. Patches are computed from JSON, because a Go value
// has fields that are not sent.
func Of(mg resource.Managed) (map[string]any, error) {
	return roundTrip[map[string]any](mg)
}

// roundTrip encodes a value as JSON and decodes it as a T.
func roundTrip[T any](value any) (T, error) {
	var result T
	data, err := json.Marshal(value)
	if err != nil {
		return result, errors.Wrap(err, "cannot encode")
	}

	return result, errors.Wrap(json.Unmarshal(data, &result), "cannot decode")
}

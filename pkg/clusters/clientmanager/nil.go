package clientmanager

import "reflect"

var keyable = reflect.TypeFor[KeyableObject]()

// isNil sees through an interface that holds a nil pointer, which callers make of a Cluster
// that they did not find, and through a wrapper around one.
func isNil(cluster KeyableObject) bool { return isNilValue(reflect.ValueOf(cluster)) }

func isNilValue(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}

	return !v.IsValid() || v.Kind() == reflect.Struct && wrapsNil(v)
}

// wrapsNil reports whether a struct has its name from a Cluster that is nil: one that it
// embeds, or that is all it has.
func wrapsNil(v reflect.Value) bool {
	for field, value := range v.Fields() {
		if (field.Anonymous || v.NumField() == 1) && names(field.Type) && isNilValue(value) {
			return true
		}
	}

	return false
}

// names reports whether a type has a name and may be nil, or wrap what is.
func names(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct:
		return t.Implements(keyable)
	default:
		return false
	}
}

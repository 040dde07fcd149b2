package clientmanager

import "reflect"

var keyableType = reflect.TypeFor[KeyableObject]()

// isNil reports whether a cluster is nil, is a nil pointer in an interface, or wraps one.
func isNil(cluster KeyableObject) bool { return isNilValue(reflect.ValueOf(cluster)) }

// isNilValue implements isNil.
func isNilValue(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}

	return !v.IsValid() || v.Kind() == reflect.Struct && wrapsNil(v)
}

// wrapsNil reports whether the methods of a struct come from a nil cluster. This is a cluster that the struct embeds,
// or the only field of the struct.
func wrapsNil(v reflect.Value) bool {
	for field, value := range v.Fields() {
		if (field.Anonymous || v.NumField() == 1) && mayWrapNil(field.Type) && isNilValue(value) {
			return true
		}
	}

	return false
}

// mayWrapNil reports whether a type implements KeyableObject, and may be nil or wrap nil.
func mayWrapNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct:
		return t.Implements(keyableType)
	default:
		return false
	}
}

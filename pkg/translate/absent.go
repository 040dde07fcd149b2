package translate

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Absent reports whether an object is nil or a nil pointer in a non-nil interface.
func Absent(obj client.Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

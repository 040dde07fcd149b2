package translate

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Absent reports whether an object is nil, either as an interface or as a nil pointer in
// one.
func Absent(obj client.Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

package sim

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Records returns what the reconciler of the process remembers of its objects, to be read and
// replaced.
func (p *process) records() reflect.Value {
	// others than ours are in no world of which pictures are taken
	return reachable(memoryOf(p.reconcile.(*managed.Reconciler)).Elem().FieldByName("records")) //nolint:forcetypeassert // see above
}

// Reachable returns a field that cannot be copied by its name, because that is not exported.
func reachable(field reflect.Value) reflect.Value {
	//nolint:gosec // A process that begins in the middle has to remember what no option can tell it.
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// Copied returns a copy of a value and of all that it leads to.
func copied(of reflect.Value) reflect.Value {
	out := reflect.New(of.Type()).Elem()
	out.Set(of)
	part(out)

	return out
}

// Part parts a copy from what its original leads to. From functions, channels and interfaces
// it cannot: nobody remembers any.
func part(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others lead nowhere
	case reflect.Struct:
		for _, i := range leading(v.Type()) {
			part(reachable(v.Field(i)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			part(to.Elem())
			v.Set(to)
		}
	case reflect.Map:
		partMap(v)
	case reflect.Slice:
		if !v.IsNil() {
			to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(to, v)
			for i := range to.Len() {
				part(to.Index(i))
			}
			v.Set(to)
		}
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		if !v.IsNil() {
			panic(fmt.Sprintf("a reconciler remembers a %s, which cannot be copied", v.Type()))
		}
	}
}

func partMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	to := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		to.SetMapIndex(entries.Key(), copied(entries.Value()))
	}
	v.Set(to)
}

// Fields that lead somewhere, by type.
var leads sync.Map

func leading(t reflect.Type) []int {
	if known, ok := leads.Load(t); ok {
		return known.([]int) //nolint:forcetypeassert // nothing else is stored
	}
	var fields []int
	for i := range t.NumField() {
		if leadsOn(t.Field(i).Type) {
			fields = append(fields, i)
		}
	}
	leads.Store(t, fields)

	return fields
}

// LeadsOn says whether a copy of a value leads to the same as the value. Where a time is
// is not changed by anybody.
func leadsOn(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return t != timeType && len(leading(t)) > 0
	case reflect.Array:
		return leadsOn(t.Elem())
	default:
		return false
	}
}

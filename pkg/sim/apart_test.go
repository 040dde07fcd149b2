package sim

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"
)

// reachable returns a field that cannot be copied by its name, because that is not exported.
func reachable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// fills puts something into all that a value leads to within this package.
func fills(v reflect.Value, depth int) {
	if !v.CanSet() {
		v = reachable(v)
	}
	switch v.Kind() { //nolint:exhaustive // the others lead nowhere, or to what does not change
	case reflect.Struct:
		for i := range v.NumField() {
			if depth < 5 && v.Type() != timeType {
				fills(v.Field(i), depth+1)
			}
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fills(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fills(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fills(v.Index(0), depth+1)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("seven")
	}
}

// shares returns what two values that are equal both lead to, or in what they differ.
func shares(a, b reflect.Value, path string, known map[string]bool) (out []string) {
	if known[path] {
		return nil
	}
	switch a.Kind() { //nolint:exhaustive // the others lead nowhere
	case reflect.Struct:
		for i := range a.NumField() {
			out = append(out, shares(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name, known)...)
		}
	case reflect.Map, reflect.Pointer, reflect.Slice:
		switch {
		case a.IsNil() && b.IsNil():
		case b.IsNil():
			out = append(out, path+" is forgotten")
		case a.Pointer() == b.Pointer():
			out = append(out, path+" is shared")
		case a.Kind() == reflect.Pointer:
			out = shares(a.Elem(), b.Elem(), path, known)
		case a.Len() == 0: // of a field that was not filled
		case b.Len() == 0:
			out = append(out, path+" is forgotten")
		case a.Kind() == reflect.Slice:
			out = shares(a.Index(0), b.Index(0), path+"[]", known)
		default:
			key := a.MapKeys()[0]
			out = shares(a.MapIndex(key), b.MapIndex(key), path+"[]", known)
		}
	case reflect.Int, reflect.Int64, reflect.Bool, reflect.String:
		if fmt.Sprint(a) != fmt.Sprint(b) {
			out = append(out, path+" is another")
		}
	}

	return out
}

// TestPicturesAreApart: whatever is in a part of the world is in a copy of it, and what
// changes in one, however deep, does not change in the other.
func TestPicturesAreApart(t *testing.T) {
	s, ds, h, q, u := state{}, deeds{}, harbour{}, queue{}, turns{}
	for _, v := range []any{&s, &ds, &h, &q, &u} {
		fills(reflect.ValueOf(v).Elem(), 0)
	}
	c := *newCache(newWorld(Config{Scheme: theScheme()}, nil).server, Config{}.gvk(), 7, 0)
	known := map[string]bool{
		"harbour.subscribed": true, // nobody subscribes in a world of which pictures are taken
		"harbour.class":      true, // never changes
		"deeds.manifests[]":  true, // what is given later is put into a list of its own
		"cache.server":       true, // is that of the world
	}
	for name, of := range map[string][2]any{
		"state": {s, s.clone()}, "deeds": {ds, ds.clone()}, "harbour": {h, h.copied()},
		"cache": {c, *c.copied()}, "queue": {q, *q.copied()}, "turns": {u, u.copied()},
	} {
		for _, why := range shares(reflect.ValueOf(of[0]), reflect.ValueOf(of[1]), name, known) {
			t.Error(why)
		}
	}
}

package sim

import (
	"reflect"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/internal/redact"
)

// A memorySearch walks memory by reflection.
type memorySearch struct {
	words []string
	seen  map[uintptr]bool
	found string
}

// findRetained searches the memory of a value for one of some words, and returns the path to it, or "". It also reads
// unexported fields. It does not read the simulation's own types, or functions.
func findRetained(of any, words []string) string {
	s := memorySearch{words: words, seen: map[uintptr]bool{}}
	s.look(reflect.ValueOf(of), "")

	return s.found
}

func (s *memorySearch) look(v reflect.Value, path string) {
	if s.found != "" || !v.IsValid() {
		return
	}
	pkg := v.Type().PkgPath()
	if slices.ContainsFunc(foreign,
		func(name string) bool { return strings.HasSuffix(pkg, name) || strings.Contains(pkg, name+"/") }) &&
		path != "" || v.Type() == textsOfFailures {
		return
	}
	switch v.Kind() { //nolint:exhaustive // nothing is kept in the others
	case reflect.String:
		if slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(v.String(), word) }) {
			s.found = path
		}
	case reflect.Pointer:
		if !v.IsNil() && !s.seen[v.Pointer()] {
			s.seen[v.Pointer()] = true
			s.look(v.Elem(), path)
		}
	case reflect.Interface:
		s.look(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			s.look(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			s.look(entries.Key(), path+"[key]")
			s.look(entries.Value(), path+"[value]")
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			s.look(v.Index(i), path+"[]")
		}
	}
}

// textsOfFailures is the type of a cache that stores a bounded number of texts of failures.
var textsOfFailures = reflect.TypeFor[redact.Cache]()

// foreign has the packages whose types do not belong to the reconciler.
var foreign = []string{"moorage/internal/sim", "moorage/pkg/sim/apiserver", "testing",
	"k8s.io/apimachinery/pkg/runtime", "prometheus/client_golang", "reflect"}

package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// An alias is an object that a cache returned without a copy. The reader has its own outermost struct, and shares
// everything below it with the cache.
type alias struct {
	key  types.NamespacedName
	kept client.Object // in the cache, which returns it as long as it has this version
	as   client.Object // as it was stored; shared by all worlds
}

// lend returns the cached object without a copy. All readers of one version get the same object.
func (c *cache) lend(key types.NamespacedName) client.Object {
	kept, stored := c.kept(key), c.objects[key]
	if kept == stored {
		// a copy is an object, too
		kept = stored.DeepCopyObject().(client.Object)
		c.aliases = append(c.aliases, alias{key, kept, stored})
	}

	return kept
}

// kept returns the object in the cache, or nil.
func (c *cache) kept(key types.NamespacedName) client.Object {
	stored := c.objects[key]
	for _, l := range c.aliases {
		if l.as == stored {
			return l.kept
		}
	}

	return stored
}

// judgeAliases checks that a pass which has ended did not mutate the objects that the cache returned to it.
func (w *World) judgeAliases(p *process, key types.NamespacedName) {
	still := p.cache.aliases[:0]
	for _, l := range p.cache.aliases {
		current := p.cache.objects[l.key] == l.as
		if (l.key == key || !current) && !w.judgedBefore() {
			w.judgeUntouched(l)
		}
		if current || p.inPass.active > 1 {
			still = append(still, l)
		}
	}
	p.cache.aliases = still
}

// judgeCaches checks at the end of a run that all cached objects are equal to the stored ones.
func (w *World) judgeCaches() {
	for _, p := range w.alive() {
		for _, l := range p.cache.aliases {
			w.judgeUntouched(l)
		}
	}
}

// judgeUntouched checks that nothing has changed one cached object.
func (w *World) judgeUntouched(l alias) {
	if w.config.simulator.layouts.alike(reflect.ValueOf(l.kept).Elem(), reflect.ValueOf(l.as).Elem()) {
		return
	}
	if where := differ(jsonOf(l.kept), jsonOf(l.as), ""); where != "" {
		w.violate("S24", fmt.Sprintf("what the cache keeps of %s was changed in %s", l.key.Name, where[1:]))
	}
}

// A layouts caches the indirections of struct types.
type layouts struct{ known sync.Map }

// alike compares two structs of one type in everything that they refer to. It skips fields without indirection, because
// a reader has its own copy of them. If it returns false, a more precise comparison decides: a time or a quantity may
// have two representations.
func (l *layouts) alike(a, b reflect.Value) bool {
	for _, lead := range l.of(a.Type()) {
		if lead.unexported {
			return reflect.DeepEqual(a.Interface(), b.Interface())
		}
		a, b := a.Field(lead.field), b.Field(lead.field)
		if a.Kind() == reflect.Struct {
			if !l.alike(a, b) {
				return false
			}

			continue
		}
		if !(a.IsZero() && b.IsZero() || same(a, b)) {
			return false
		}
	}

	return true
}

// An indirection is a field through which a copy of a struct shares memory with the original.
type indirection struct {
	field      int
	unexported bool // it is not exported
}

// of returns the indirections of a struct type.
func (l *layouts) of(t reflect.Type) []indirection {
	if known, ok := l.known.Load(t); ok {
		return known.([]indirection)
	}
	var fields []indirection
	for i := range t.NumField() {
		if f := t.Field(i); l.indirect(f.Type) {
			fields = append(fields, indirection{i, !f.IsExported()})
		}
	}
	l.known.Store(t, fields)

	return fields
}

// indirect returns whether a copy of a value shares memory with it. The location of a time does not count, because it
// is never changed.
func (l *layouts) indirect(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface,
		reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return t != timeType && len(l.of(t)) > 0
	case reflect.Array:
		return l.indirect(t.Elem())
	default:
		return false
	}
}

var timeType = reflect.TypeFor[time.Time]()

// same is a reflect.DeepEqual of two fields that is fast for the most frequent types.
func same(a, b reflect.Value) bool {
	switch is := a.Addr().Interface().(type) {
	case *map[string]string:
		return maps.Equal(*is, *b.Addr().Interface().(*map[string]string))
	case *[]string:
		return slices.Equal(*is, *b.Addr().Interface().(*[]string))
	case *[]commonv1.Condition:
		return slices.Equal(*is, *b.Addr().Interface().(*[]commonv1.Condition))
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

// differ returns the path of the first difference of two JSON values, or nothing. It does not return the values, which
// may be secret.
func differ(a, b any, at string) string {
	x, isMap := a.(map[string]any)
	y, areMaps := b.(map[string]any)
	if !isMap || !areMaps {
		if reflect.DeepEqual(a, b) {
			return ""
		}

		return at
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if where := differ(x[key], y[key], at+"."+key); where != "" {
			return where
		}
	}

	return ""
}

// jsonOf returns an object as the API server stores it.
func jsonOf(o client.Object) any {
	var image any
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &image)
	}
	if err != nil {
		return map[string]any{"?": err.Error()}
	}

	return image
}

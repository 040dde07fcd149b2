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

// Lent is an object that a cache has handed out itself, and no copy of it: all but its
// outermost struct is in the hands of who asked.
type lent struct {
	key  types.NamespacedName
	kept client.Object // by the cache, which hands it out as long as it has this version
	as   client.Object // it was stored; shared by all worlds
}

// keeps returns what the cache keeps under a name, or nil.
func (c *cache) keeps(key types.NamespacedName) client.Object {
	stored := c.objects[key]
	for _, l := range c.lent {
		if l.as == stored {
			return l.kept
		}
	}

	return stored
}

// lend returns what the cache keeps under a name to somebody who may change it although he
// must not. It is the same for all who ask for this version.
func (c *cache) lend(key types.NamespacedName) client.Object {
	kept, stored := c.keeps(key), c.objects[key]
	if kept == stored {
		// a copy is an object, too
		kept = stored.DeepCopyObject().(client.Object) //nolint:forcetypeassert // see above
		c.lent = append(c.lent, lent{key, kept, stored})
	}

	return kept
}

// judgeLent judges that a pass which is over has changed nothing of what it was lent.
func (w *World) judgeLent(p *process, key types.NamespacedName) {
	still := p.cache.lent[:0]
	for _, l := range p.cache.lent {
		current := p.cache.objects[l.key] == l.as
		if (l.key == key || !current) && !w.repeats() {
			w.judgeUntouched(l)
		}
		if current || p.active > 1 {
			still = append(still, l)
		}
	}
	p.cache.lent = still
}

// judgeCaches judges that in the end what is kept of all objects is as it was stored.
func (w *World) judgeCaches() {
	for _, p := range w.alive() {
		for _, l := range p.cache.lent {
			w.judgeUntouched(l)
		}
	}
}

func (w *World) judgeUntouched(l lent) {
	if alike(reflect.ValueOf(l.kept).Elem(), reflect.ValueOf(l.as).Elem()) {
		return
	}
	if where := differ(imageOf(l.kept), imageOf(l.as), ""); where != "" {
		w.violate("S24", fmt.Sprintf("what the cache keeps of %s was changed in %s", l.key.Name, where[1:]))
	}
}

// alike says whether two structs lead to the same. What they hold themselves cannot be
// changed by who has a copy. That they do not is to be looked at more closely: it may be no
// more than that a time, or a quantity, is put in another way.
func alike(a, b reflect.Value) bool {
	for _, lead := range leading(a.Type()) {
		if lead.hidden {
			return reflect.DeepEqual(a.Interface(), b.Interface())
		}
		a, b := a.Field(lead.at), b.Field(lead.at)
		if a.Kind() == reflect.Struct {
			if !alike(a, b) {
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

// same is reflect.DeepEqual, which takes long for what objects have most of, of two fields.
func same(a, b reflect.Value) bool {
	switch is := a.Addr().Interface().(type) {
	case *map[string]string:
		return maps.Equal(*is, *b.Addr().Interface().(*map[string]string)) //nolint:forcetypeassert // both are the same field
	case *[]string:
		return slices.Equal(*is, *b.Addr().Interface().(*[]string)) //nolint:forcetypeassert // both are the same field
	case *[]commonv1.Condition:
		return slices.Equal(*is, *b.Addr().Interface().(*[]commonv1.Condition)) //nolint:forcetypeassert // both are the same field
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

var timeType = reflect.TypeFor[time.Time]()

// A lead is a field that leads somewhere.
type lead struct {
	at     int
	hidden bool // it is not exported
}

// Fields that lead somewhere, by type.
var leads sync.Map

func leading(t reflect.Type) []lead {
	if known, ok := leads.Load(t); ok {
		return known.([]lead) //nolint:forcetypeassert // nothing else is stored
	}
	var fields []lead
	for i := range t.NumField() {
		if f := t.Field(i); leadsOn(f.Type) {
			fields = append(fields, lead{i, !f.IsExported()})
		}
	}
	leads.Store(t, fields)

	return fields
}

// leadsOn says whether a copy of a value leads to the same as the value. Where a time is
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

// imageOf returns an object as the API server would have it.
func imageOf(o client.Object) any {
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

// differ returns where two images differ first, or nothing. What is there may be secret.
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

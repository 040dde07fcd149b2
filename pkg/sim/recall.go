package sim

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Remembers is a hash of what a process remembers of its objects, as far as that can
// make a difference. Of a reconciler that is not ours nobody knows where that is: what
// it has done stands for it.
func (p *process) remembers() uint64 {
	r, ours := p.reconcile.(*managed.Reconciler)
	if !ours {
		return p.done.sum
	}

	return recall{p.world.objects()}.of(memoryOf(r))
}

func memoryOf(r *managed.Reconciler) reflect.Value {
	memory := reflect.ValueOf(r).Elem().FieldByName("memory")
	if !memory.IsValid() {
		panic("the memory of the reconciler is somewhere else now")
	}

	return memory
}

// A recall reads a memory. What it says of how often and when something was, it says of
// whether it was; and what it says of an object's own words, of which of them.
type recall struct{ objects []resource.Managed }

// What is remembered for the sake of events, figures, and of when a pass is only, which
// are judged for themselves.
var forgettable = map[string]bool{
	"version": true, "told": true, "disconnect": true, "reverted": true, "badInterval": true, "volatileAt": true, "wrote": true,
	"known": true, "failed": true, "tried": true, "changed": true, "waits": true, "unchanged": true, "conflicts": true, "lost": true,
	"counted": true, "held": true, "place": true, "gone": true, "mu": true, "uid": true,
}

// Fields of types that are remembered.
var memorable sync.Map

func fieldsOf(t reflect.Type) []int {
	if known, ok := memorable.Load(t); ok {
		return known.([]int) //nolint:forcetypeassert // nothing else is stored
	}
	var fields []int
	for i := range t.NumField() {
		if !forgettable[t.Field(i).Name] {
			fields = append(fields, i)
		}
	}
	memorable.Store(t, fields)

	return fields
}

// As many as make no more difference if there are more.
const aFew = 1

var timeType = reflect.TypeFor[time.Time]()

func (r recall) of(v reflect.Value) uint64 {
	if v.IsZero() {
		return 0
	}
	sum := uint64(1)
	switch v.Kind() { //nolint:exhaustive // nothing is remembered in the others
	case reflect.Pointer, reflect.Interface:
		return r.of(v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			return 1
		}
		says := uint64(0)
		for _, i := range fieldsOf(v.Type()) {
			field := r.of(v.Field(i))
			sum, says = mixed(sum, field), says|field
		}
		if says == 0 {
			return 0
		}
	case reflect.Map:
		sum = 0
		for entries := v.MapRange(); entries.Next(); {
			if value := r.of(entries.Value()); value != 0 {
				sum += mixed(r.of(entries.Key()), value)
			}
		}
	case reflect.String:
		return r.role(v.String())
	case reflect.Int, reflect.Int64:
		return uint64(min(v.Int(), aFew)) + 1
	}

	return sum
}

// Role says what a text is to the objects.
func (r recall) role(text string) uint64 {
	for i, mg := range r.objects {
		switch {
		case strings.HasPrefix(mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], text):
			return uint64(8*i + 2)
		case meta.GetExternalName(mg) == text:
			return uint64(8*i + 3)
		case string(mg.GetUID()) == text:
			return uint64(8*i + 4)
		case mg.GetName() == text:
			return uint64(8*i + 5)
		}
	}

	return 7
}

// Done is what a process has done at least once, and how that ended.
type done struct {
	sum   uint64
	known map[uint64]bool
}

func (d *done) add(words ...string) {
	if d.known == nil {
		d.known = map[uint64]bool{}
	}
	if h := hashed(words...); !d.known[h] {
		d.known[h] = true
		d.sum += h
	}
}

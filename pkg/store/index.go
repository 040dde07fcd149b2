package store

import (
	"maps"
	"slices"
)

// An index finds keys by values that a function takes from objects.
type index[T Object] struct {
	of     func(T) []string
	keys   map[string]map[string]struct{} // of a value
	values map[string][]string            // of a key
}

// AddIndex lets ByIndex find objects by the values that of returns for them. A
// second index of that name is ignored: it is the same one, added by somebody who
// shares the informer.
func (i *Informer[T]) AddIndex(name string, of func(T) []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.indexes[name]; ok {
		return
	}
	x := &index[T]{of: of, keys: map[string]map[string]struct{}{}, values: map[string][]string{}}
	for key, e := range i.entries {
		x.put(key, e.object, e.known)
	}
	i.indexes[name] = x
}

// ByIndex returns the objects for which an index has the value, by key, those
// that are held among them. They are shared: do not change them.
func (i *Informer[T]) ByIndex(name, value string) []T {
	i.mu.Lock()
	defer i.mu.Unlock()
	x, ok := i.indexes[name]
	if !ok {
		return nil
	}
	var out []T
	for _, key := range slices.Sorted(maps.Keys(x.keys[value])) {
		out = append(out, i.entries[key].object)
	}

	return out
}

func (x *index[T]) put(key string, obj T, known bool) {
	for _, value := range x.values[key] {
		delete(x.keys[value], key)
		if len(x.keys[value]) == 0 {
			delete(x.keys, value)
		}
	}
	delete(x.values, key)
	if !known {
		return
	}
	x.values[key] = x.of(obj)
	for _, value := range x.values[key] {
		if x.keys[value] == nil {
			x.keys[value] = map[string]struct{}{}
		}
		x.keys[value][key] = struct{}{}
	}
}

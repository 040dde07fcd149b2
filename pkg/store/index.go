package store

import (
	"maps"
	"slices"
)

// An index maps values that a function returns for objects to keys.
type index[T Object] struct {
	of     func(T) []string
	keys   map[string]map[string]struct{} // of a value
	values map[string][]string            // of a key
}

// AddIndex adds an index for ByIndex. of returns the values of an object. A second index of the same name is
// ignored, so that users of a shared informer can add the same index.
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

// ByIndex returns the objects for which the index has the value, sorted by key, including held objects. They are
// shared: do not modify them.
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

// put replaces the values of a key. If known is false it removes them.
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

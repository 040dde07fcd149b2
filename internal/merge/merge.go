// Package merge merges a list that several writers share, such as the conditions of a status. The elements of the list
// have a key, and the list has at most one element of each key.
package merge

import "slices"

// An Elements describes the elements of a list. All fields are required, because the zero value cannot merge. Its
// functions must not change their arguments, apart from the list of Set.
type Elements[E any, K comparable] struct {
	// Key returns the key of an element.
	Key func(E) K
	// Equal reports whether two elements with the same key are the same, in every field that is stored.
	Equal func(a, b E) bool
	// Set replaces the element with the same key in the list, or appends the element.
	Set func(list *[]E, element E)
}

// Changes applies the changes from base to mine to the newest list, key by key, and returns the result. It does not
// change its arguments.
//
// An element that differs between base and mine is set. An element that base has and mine lacks is removed. All other
// elements are as in newest, with the changes of other writers. Added elements come last, in the order of mine.
func (e Elements[E, K]) Changes(base, mine, newest []E) []E {
	merged := slices.DeleteFunc(slices.Clone(newest), func(c E) bool {
		return e.find(base, e.Key(c)) != nil && e.find(mine, e.Key(c)) == nil
	})
	for _, c := range mine {
		if old := e.find(base, e.Key(c)); old == nil || !e.Equal(*old, c) {
			e.Set(&merged, c)
		}
	}

	return merged
}

// find returns the element with the key, or nil.
func (e Elements[E, K]) find(list []E, key K) *E {
	i := slices.IndexFunc(list, func(c E) bool { return e.Key(c) == key })
	if i < 0 {
		return nil
	}

	return &list[i]
}

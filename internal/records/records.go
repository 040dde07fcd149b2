// Package records keeps a record in memory for each existing object. A record has state that the process does not store
// in the object. Start with New.
package records

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Records holds records by the name and UID of an object. An object with the name of another object, but another UID,
// begins with an empty record. Records may be used concurrently, but the caller has to synchronize access to the
// content of a record. The zero value is not usable.
type Records[R any] struct {
	gone func(*R)

	mu      sync.Mutex
	records map[types.NamespacedName]*entry[R]
}

type entry[R any] struct {
	uid    types.UID
	record R
}

// New returns empty Records. They call the function gone with each record that they drop. The function may be nil.
func New[R any](gone func(*R)) *Records[R] {
	if gone == nil {
		gone = func(*R) {}
	}

	return &Records[R]{gone: gone, records: map[types.NamespacedName]*entry[R]{}}
}

// Of returns the record of an object. If there is none, it adds an empty record. It drops the record of another
// object with the same name.
func (r *Records[R]) Of(name types.NamespacedName, uid types.UID) *R {
	r.mu.Lock()
	before := r.records[name]
	now := before
	if before == nil || before.uid != uid {
		now = &entry[R]{uid: uid}
		r.records[name] = now
	}
	r.mu.Unlock()
	if before != nil && before != now {
		r.gone(&before.record)
	}

	return &now.record
}

// Peek returns the record of an object, or nil.
func (r *Records[R]) Peek(name types.NamespacedName, uid types.UID) *R {
	r.mu.Lock()
	defer r.mu.Unlock()

	if e := r.records[name]; e != nil && e.uid == uid {
		return &e.record
	}

	return nil
}

// At returns the record of the object with the given name, and the UID of the object. If there is none, it returns ""
// and nil.
func (r *Records[R]) At(name types.NamespacedName) (types.UID, *R) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if e := r.records[name]; e != nil {
		return e.uid, &e.record
	}

	return "", nil
}

// Forget drops the record of an object that is gone. If there is none, it does nothing.
func (r *Records[R]) Forget(name types.NamespacedName) {
	r.mu.Lock()
	e := r.records[name]
	delete(r.records, name)
	r.mu.Unlock()
	if e != nil {
		r.gone(&e.record)
	}
}

// Clear drops all records.
func (r *Records[R]) Clear() {
	r.mu.Lock()
	all := r.records
	r.records = map[types.NamespacedName]*entry[R]{}
	r.mu.Unlock()
	for _, e := range all {
		r.gone(&e.record)
	}
}

// Each calls visit with each record, in no particular order.
func (r *Records[R]) Each(visit func(types.NamespacedName, types.UID, *R)) {
	r.mu.Lock()
	all := maps.Clone(r.records)
	r.mu.Unlock()
	for name, e := range all {
		visit(name, e.uid, &e.record)
	}
}

// Len returns the number of records.
func (r *Records[R]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return len(r.records)
}

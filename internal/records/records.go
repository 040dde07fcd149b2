// Package records keeps a record in memory for each object that exists, for state of a process
// that is not stored in the object. Start with New.
package records

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Records are kept by the name of an object, but each belongs to a UID: another object under
// the same name begins with an empty one. They may be used concurrently; access to the content
// of a record is up to the caller. The zero value is not usable.
type Records[R any] struct {
	gone func(*R)

	mu      sync.Mutex
	records map[types.NamespacedName]*entry[R]
}

type entry[R any] struct {
	uid    types.UID
	record R
}

// New returns empty Records. Unless gone is nil, it is called with each record that is dropped.
func New[R any](gone func(*R)) *Records[R] {
	if gone == nil {
		gone = func(*R) {}
	}

	return &Records[R]{gone: gone, records: map[types.NamespacedName]*entry[R]{}}
}

// Of returns the record of an object, a new one if there is none. The record of another object
// under its name is dropped.
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

// At returns the record that is kept under a name, and the UID of its object, or "" and nil.
func (r *Records[R]) At(name types.NamespacedName) (types.UID, *R) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if e := r.records[name]; e != nil {
		return e.uid, &e.record
	}

	return "", nil
}

// Forget drops the record of an object that is gone, if there is one.
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

// Each calls visit with each record, in no order.
func (r *Records[R]) Each(visit func(types.NamespacedName, types.UID, *R)) {
	r.mu.Lock()
	all := maps.Clone(r.records)
	r.mu.Unlock()
	for name, e := range all {
		visit(name, e.uid, &e.record)
	}
}

// Len returns how many records there are.
func (r *Records[R]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return len(r.records)
}

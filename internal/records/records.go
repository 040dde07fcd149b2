// Package records is for what a process knows about objects beyond what is stored in
// them: a record for each object that exists. Start with New.
package records

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Records are kept by the name of an object, but each belongs to a UID: another object
// under the same name begins with an empty one. They may be used concurrently; what is
// in a record is up to whoever asked for it. The zero value is not usable.
type Records[R any] struct {
	gone func(*R)

	mu      sync.Mutex
	records map[types.NamespacedName]*entry[R]
}

type entry[R any] struct {
	uid    types.UID
	record R
}

// New returns no records. Unless it is nil, gone is called with each record that is
// dropped.
func New[R any](gone func(*R)) *Records[R] {
	if gone == nil {
		gone = func(*R) {}
	}

	return &Records[R]{gone: gone, records: map[types.NamespacedName]*entry[R]{}}
}

// Of returns the record of an object, which is made if there is none. That of another
// object under its name is dropped.
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

// At returns the record that is kept under a name, or nil, and whose it is.
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

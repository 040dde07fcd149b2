package store

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Metadata is what a store knows of every object. An object holds it in the JSON
// field metadata. The zero value is that of an object which was never stored.
type Metadata struct {
	// Key names the object within its store. Which characters it may have is for
	// the store to say.
	Key string `json:"key,omitempty"`

	// UID is given by Create and tells an object from a later one of that key.
	UID string `json:"uid,omitempty"`

	// Revision of the store at which this state was written. It is no part of the
	// value: whoever reads sets it.
	Revision uint64 `json:"-"`

	// Generation counts the changes of what is neither metadata nor status, and
	// the mark of deletion.
	Generation int64 `json:"generation,omitempty"`

	// Labels and Annotations are the user's.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	// Finalizers keep an object that is being deleted until they have been taken
	// away, one by one, by those who put them there.
	Finalizers []string `json:"finalizers,omitempty"`

	// CreationTimestamp is given by Create.
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"`

	// DeletionTimestamp is given by Delete if there are finalizers. It never goes.
	DeletionTimestamp *time.Time `json:"deletionTimestamp,omitempty"`

	// Owners are the objects this one was made for.
	Owners []Owner `json:"owners,omitempty"`

	// Extra is metadata of another model of objects, by field. No store looks at
	// it; it is not part of what is desired, and nobody changes what is in it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// An Owner says for which object another one was made, and what was known of it
// then: with the epoch and revision of the owner's store a garbage collector can
// tell an owner that was deleted from one whose store was lost.
type Owner struct {
	// Kind and Key of the owner.
	Kind string `json:"kind"`
	Key  string `json:"key"`

	// UID of the owner.
	UID string `json:"uid,omitempty"`

	// Epoch and Revision of the owner's store when this was written.
	Epoch    string `json:"epoch,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
}

// An Object is what a Store holds, usually a pointer to a struct with the fields
// Metadata, Spec and Status. GetMetadata returns a pointer into the object, never
// nil unless the object is. The object marshals to a JSON object.
type Object interface {
	GetMetadata() *Metadata
}

// Absent tells whether there is no object: nil, or a pointer that is nil.
func Absent[T Object](obj T) bool {
	v := reflect.ValueOf(obj)

	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// DeepCopy returns a copy that shares nothing.
func (m *Metadata) DeepCopy() *Metadata {
	if m == nil {
		return nil
	}

	out := *m
	out.Labels = maps.Clone(m.Labels)
	out.Annotations = maps.Clone(m.Annotations)
	out.Finalizers = slices.Clone(m.Finalizers)
	out.Owners = slices.Clone(m.Owners)
	out.Extra = maps.Clone(m.Extra)
	if m.DeletionTimestamp != nil {
		out.DeletionTimestamp = new(*m.DeletionTimestamp)
	}

	return &out
}

// Encode returns the value under which an object is stored.
func Encode[T Object](obj T) ([]byte, error) {
	value, err := json.Marshal(obj)

	return value, errors.Wrap(err, "cannot encode object")
}

// Decode returns the object of a value, with the key and the revision under which
// it was found: what the value says of its key does not count. An error matches
// ErrUndecodable.
func Decode[T Object](key string, revision uint64, value []byte) (T, error) {
	obj := blank[T]()
	target := any(obj)
	if reflect.TypeFor[T]().Kind() != reflect.Pointer {
		target = &obj
	}

	var zero T
	if err := json.Unmarshal(value, target); err != nil {
		return zero, &EntryError{Key: key, Revision: revision, Err: err}
	}
	m := obj.GetMetadata()
	if m == nil {
		return zero, &EntryError{Key: key, Revision: revision, Err: errors.New("the value has no metadata")}
	}
	m.Key, m.Revision = key, revision

	return obj, nil
}

// Clone returns a copy that shares nothing with the object: made by its own
// method DeepCopy if it has one, and by way of JSON otherwise, which drops what is
// not encoded.
func Clone[T Object](obj T) (T, error) {
	if c, ok := any(obj).(interface{ DeepCopy() T }); ok {
		return c.DeepCopy(), nil
	}

	value, err := Encode(obj)
	if err != nil {
		return obj, err
	}

	return Decode[T](obj.GetMetadata().Key, obj.GetMetadata().Revision, value)
}

// blank returns an object to decode into: T is a pointer nearly always.
func blank[T Object]() T {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()).Interface().(T)
	}

	var zero T

	return zero
}

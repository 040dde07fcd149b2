package store

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Metadata holds what a store manages for every object, in the JSON field metadata. The zero value is the metadata
// of an object that was never stored.
type Metadata struct {
	// Key identifies the object within its store. The store determines which keys are valid; see ValidKey.
	Key string `json:"key,omitempty"`

	// UID is set by Create. It distinguishes the object from a later one with the same key.
	UID string `json:"uid,omitempty"`

	// Revision is the revision of the store at which this state was written. It is not part of the stored value:
	// Decode sets it.
	Revision uint64 `json:"-"`

	// Generation counts the changes of fields other than metadata and status, and the start of a deletion.
	Generation int64 `json:"generation,omitempty"`

	// Labels and Annotations belong to users.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	// Finalizers keep an object that is being deleted until their owners have removed all of them.
	Finalizers []string `json:"finalizers,omitempty"`

	// CreationTimestamp is the time of Create.
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"`

	// DeletionTimestamp is set by Delete if there are finalizers. It cannot be unset.
	DeletionTimestamp *time.Time `json:"deletionTimestamp,omitempty"`

	// Owners are the objects that this one was created for.
	Owners []Owner `json:"owners,omitempty"`

	// Extra holds metadata of another API, by field. Stores ignore Extra, and its changes do not count for Generation. Its
	// values must not be modified in place.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// An Owner is a reference to the object for which another object was created. It has the epoch and the revision that
// the store of the owner had at that time. A garbage collector uses the two values to distinguish a deleted owner from
// an owner that was lost with its store.
type Owner struct {
	// Kind and Key identify the owner.
	Kind string `json:"kind"`
	Key  string `json:"key"`

	// UID is the UID of the owner.
	UID string `json:"uid,omitempty"`

	// Epoch and Revision are the state of the owner's store when the reference was written.
	Epoch    string `json:"epoch,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
}

// An Object is a value that a Store can hold, usually a pointer to a struct with the fields Metadata, Spec and Status.
// It marshals to a JSON object. GetMetadata returns a pointer into the object. It returns nil only if the object is
// nil.
type Object interface {
	GetMetadata() *Metadata
}

// Absent returns whether obj is nil or a nil pointer.
func Absent[T Object](obj T) bool {
	v := reflect.ValueOf(obj)

	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// DeepCopy returns a deep copy, which the caller may modify.
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

// Encode returns the value to store for an object.
func Encode[T Object](obj T) ([]byte, error) {
	value, err := json.Marshal(obj)

	return value, errors.Wrap(err, "cannot encode object")
}

// Decode returns the object of a value, with the key and the revision of its entry; a key in the value is ignored.
// Errors match ErrUndecodable.
func Decode[T Object](key string, revision uint64, value []byte) (T, error) {
	obj := newObject[T]()
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

// Clone returns a deep copy of the object. It uses the method DeepCopy if the object has one, and JSON otherwise,
// which drops fields that are not encoded.
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

// newObject returns an object to decode into. T is usually a pointer.
func newObject[T Object]() T {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()).Interface().(T)
	}

	var zero T

	return zero
}

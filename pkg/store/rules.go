package store

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// The fields of a value that the store manages; all other fields belong to the object.
const (
	fieldMetadata = "metadata"
	fieldStatus   = "status"
)

// Rules compute the result of writes. They are for authors of adapters: an adapter reads the stored value, calls a
// method of Rules, and writes the Change on condition that the revision is still the one that was read. The zero
// value uses the system clock and random UIDs.
type Rules struct {
	// Now returns the time of creations and deletions.
	Now func() time.Time

	// NewUID returns a unique UID.
	NewUID func() string
}

// A Stored is a stored value, as an adapter has read it.
type Stored struct {
	// Key and Revision identify the entry.
	Key      string
	Revision uint64

	// Value is the value of the entry.
	Value []byte
}

// A Change is the write that an adapter has to do.
type Change struct {
	// Value is the value to write. It is nil if the entry has to be removed, or if there is nothing to do.
	Value []byte

	// Remove is true if the entry has to be removed.
	Remove bool
}

// None reports whether the Change needs no write.
func (c Change) None() bool { return c.Value == nil && !c.Remove }

// Create returns the value of a new object.
func (r Rules) Create(obj Object) (Change, error) {
	d, m, err := parse(obj)
	if err != nil {
		return Change{}, err
	}

	delete(d, fieldStatus)
	m.UID, m.Generation, m.DeletionTimestamp = r.uid(), 1, nil
	m.CreationTimestamp = r.now()

	return d.change(m)
}

// Update returns the change for an update of everything except the status.
func (r Rules) Update(stored Stored, obj Object) (Change, error) {
	old, was, d, m, err := parsePair(stored, obj)
	if err != nil {
		return Change{}, err
	}

	if status, ok := old[fieldStatus]; ok {
		d[fieldStatus] = status
	} else {
		delete(d, fieldStatus)
	}
	m.UID, m.Generation = was.UID, was.Generation
	m.CreationTimestamp, m.DeletionTimestamp = was.CreationTimestamp, was.DeletionTimestamp
	if !d.equalDesired(old) {
		m.Generation++
	}
	if m.DeletionTimestamp != nil {
		if i := slices.IndexFunc(m.Finalizers, func(f string) bool { return !slices.Contains(was.Finalizers, f) }); i >= 0 {
			return Change{}, errors.Wrapf(ErrInvalid, "cannot add finalizer %q to an object that is being deleted",
				m.Finalizers[i])
		}
		if len(m.Finalizers) == 0 {
			return Change{Remove: true}, nil
		}
	}

	return d.changeFrom(stored, m)
}

// UpdateStatus returns the change for an update of the status.
func (r Rules) UpdateStatus(stored Stored, obj Object) (Change, error) {
	old, was, d, _, err := parsePair(stored, obj)
	if err != nil {
		return Change{}, err
	}

	if status, ok := d[fieldStatus]; ok {
		old[fieldStatus] = status
	} else {
		delete(old, fieldStatus)
	}

	return old.changeFrom(stored, was)
}

// Delete returns the change for a deletion. A value that cannot be decoded can be removed.
func (r Rules) Delete(stored Stored, p Preconditions) (Change, error) {
	if p.Revision != 0 && p.Revision != stored.Revision {
		return Change{}, ErrConflict
	}
	d, m, err := read(stored)
	if err != nil {
		if p.UID != "" {
			return Change{}, err
		}

		return Change{Remove: true}, nil
	}
	if p.UID != "" && p.UID != m.UID {
		return Change{}, ErrConflict
	}
	if len(m.Finalizers) == 0 {
		return Change{Remove: true}, nil
	}
	if m.DeletionTimestamp != nil {
		return Change{}, nil
	}
	m.DeletionTimestamp = new(r.now())
	m.Generation++

	return d.change(m)
}

// now returns the current time in UTC, in whole seconds.
func (r Rules) now() time.Time {
	now := r.Now
	if now == nil {
		now = time.Now
	}

	return now().UTC().Truncate(time.Second)
}

// uid returns a new UID.
func (r Rules) uid() string {
	if r.NewUID != nil {
		return r.NewUID()
	}

	return randomUID()
}

// randomUID returns a UUID of version 4.
func randomUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])

	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// A document holds the fields of a value, including fields that T does not have.
type document map[string]json.RawMessage

// parse returns the fields and the metadata of an object.
func parse(obj Object) (document, *Metadata, error) {
	if Absent(obj) || obj.GetMetadata() == nil {
		return nil, nil, errors.Wrap(ErrInvalid, "object has no metadata")
	}
	m := obj.GetMetadata()
	value, err := Encode(obj)
	if err != nil {
		return nil, nil, err
	}
	var d document
	if err := json.Unmarshal(value, &d); err != nil {
		return nil, nil, errors.Wrap(ErrInvalid, "object does not encode to a JSON object")
	}

	return d, m.DeepCopy(), nil
}

// read returns the fields and the metadata of a stored value.
func read(stored Stored) (document, *Metadata, error) {
	var d document
	if err := json.Unmarshal(stored.Value, &d); err != nil {
		return nil, nil, &EntryError{Key: stored.Key, Revision: stored.Revision, Err: err}
	}
	m := &Metadata{}
	if raw, ok := d[fieldMetadata]; ok {
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, nil, &EntryError{Key: stored.Key, Revision: stored.Revision, Err: err}
		}
	}
	m.Key = stored.Key

	return d, m, nil
}

// parsePair parses both values, and checks that the object is based on the stored value.
func parsePair(stored Stored, obj Object) (old document, was *Metadata, d document, m *Metadata, err error) {
	if d, m, err = parse(obj); err != nil {
		return nil, nil, nil, nil, err
	}
	if m.Revision == 0 {
		return nil, nil, nil, nil, errors.Wrap(ErrInvalid, "an update needs the revision it is based on")
	}
	if m.Revision != stored.Revision {
		return nil, nil, nil, nil, ErrConflict
	}
	if old, was, err = read(stored); err != nil {
		return nil, nil, nil, nil, err
	}
	if m.UID != "" && m.UID != was.UID {
		return nil, nil, nil, nil, ErrConflict
	}

	return old, was, d, m, nil
}

// equalDesired returns whether two documents differ at most in metadata and status.
func (d document) equalDesired(other document) bool {
	return equalJSON(d.desired(), other.desired())
}

// desired returns the fields other than metadata and status.
func (d document) desired() document {
	out := document{}
	for name, value := range d {
		if name != fieldMetadata && name != fieldStatus {
			out[name] = value
		}
	}

	return out
}

// change returns a change that writes the document with the metadata.
func (d document) change(m *Metadata) (Change, error) {
	if m.Key == "" {
		return Change{}, errors.Wrap(ErrInvalid, "object has no key")
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return Change{}, errors.Wrap(err, "cannot encode metadata")
	}
	d[fieldMetadata] = raw
	value, err := json.Marshal(d)

	return Change{Value: value}, errors.Wrap(err, "cannot encode object")
}

// changeFrom returns the change from the stored value. The change is empty if the new value is equal to it.
func (d document) changeFrom(stored Stored, m *Metadata) (Change, error) {
	c, err := d.change(m)
	if err != nil {
		return Change{}, err
	}
	if equalJSON(json.RawMessage(stored.Value), json.RawMessage(c.Value)) {
		return Change{}, nil
	}

	return c, nil
}

// equalJSON compares the canonical encodings of two values.
func equalJSON(a, b any) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)

	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// canonical returns JSON with sorted keys and unchanged digits of numbers.
func canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var any any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&any); err != nil {
		return nil, err
	}

	return json.Marshal(any)
}

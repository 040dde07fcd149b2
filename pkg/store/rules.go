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

// The fields of a value that are not the object's own.
const (
	fieldMetadata = "metadata"
	fieldStatus   = "status"
)

// Rules say what becomes of an object that is written. They are for those who
// write an adapter: it reads the value stored, asks the rules, and writes what
// they return under the condition that the revision is still the one it read. The
// zero value takes the time from the wall and UIDs from the system's source of
// randomness.
type Rules struct {
	// Now tells the time of creations and deletions.
	Now func() time.Time

	// NewUID returns what no object had before.
	NewUID func() string
}

// A Stored value, as an adapter has read it.
type Stored struct {
	// Key and Revision of the entry.
	Key      string
	Revision uint64

	// Value of the entry.
	Value []byte
}

// A Change is what an adapter has to do.
type Change struct {
	// Value to write. It is nil if the object is to be removed, or if nothing is
	// to be done.
	Value []byte

	// Remove the entry.
	Remove bool
}

// None tells that there is nothing to do.
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

// Update returns what the update of a stored value comes to.
func (r Rules) Update(stored Stored, obj Object) (Change, error) {
	old, was, d, m, err := pair(stored, obj)
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
	if !d.desires(old) {
		m.Generation++
	}
	if m.DeletionTimestamp != nil {
		if i := slices.IndexFunc(m.Finalizers, func(f string) bool { return !slices.Contains(was.Finalizers, f) }); i >= 0 {
			return Change{}, errors.Wrapf(ErrInvalid, "cannot add finalizer %q to what is being deleted", m.Finalizers[i])
		}
		if len(m.Finalizers) == 0 {
			return Change{Remove: true}, nil
		}
	}

	return d.changeFrom(stored, m)
}

// UpdateStatus returns what the update of a stored value's status comes to.
func (r Rules) UpdateStatus(stored Stored, obj Object) (Change, error) {
	old, was, d, _, err := pair(stored, obj)
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

// Delete returns what the deletion of a stored value comes to. What cannot be
// decoded can be removed.
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

func (r Rules) now() time.Time {
	now := r.Now
	if now == nil {
		now = time.Now
	}

	return now().UTC().Truncate(time.Second)
}

func (r Rules) uid() string {
	if r.NewUID != nil {
		return r.NewUID()
	}

	return randomUID()
}

// randomUID is a UUID of version 4.
func randomUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])

	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// A document is a value taken apart, so that what T does not know stays.
type document map[string]json.RawMessage

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
		return nil, nil, errors.Wrap(ErrInvalid, "object is no JSON object")
	}

	return d, m.DeepCopy(), nil
}

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

// pair reads both, and sees to it that one is based on the other.
func pair(stored Stored, obj Object) (old document, was *Metadata, d document, m *Metadata, err error) {
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

// desires tells whether two documents are equal but for metadata and status.
func (d document) desires(other document) bool {
	return equalJSON(d.own(), other.own())
}

func (d document) own() document {
	out := document{}
	for name, value := range d {
		if name != fieldMetadata && name != fieldStatus {
			out[name] = value
		}
	}

	return out
}

// change returns the value with that metadata.
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

// changeFrom returns no change if the value would be the one stored.
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

// equalJSON compares canonical images: keys of maps are sorted when they are
// encoded, and numbers keep their digits.
func equalJSON(a, b any) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)

	return errX == nil && errY == nil && bytes.Equal(x, y)
}

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

package store

import (
	"context"
	"iter"
	"strings"
)

// An Op is what happened to an entry.
type Op uint8

// The operations. The zero value is Put.
const (
	// Put: the object was created or changed.
	Put Op = iota

	// Delete: the object is gone; the store may remember earlier states.
	Delete

	// Purge: the object is gone, and so is what the store knew of it.
	Purge
)

// String returns the operation as a word.
func (o Op) String() string {
	switch o {
	case Put:
		return "put"
	case Delete:
		return "delete"
	case Purge:
		return "purge"
	default:
		return "unknown"
	}
}

// An Event of a watch.
type Event[T any] struct {
	// Op is what happened to the entry.
	Op Op

	// Key of the entry. It is empty if Synced.
	Key string

	// Revision of the store at which it happened. Events come in its order, and
	// those of a snapshot, too.
	Revision uint64

	// Object after a Put, its revision set. The receiver owns it.
	Object T

	// Err is set if a Put cannot be decoded; it is an EntryError. The object is
	// the zero value then. Other entries are not affected.
	Err error

	// Synced says that all there is up to Revision has been told. The first such
	// event ends the snapshot, in which there is one event per key; others may
	// follow at any time.
	Synced bool

	// Epoch of the store, with Synced. See State.
	Epoch string
}

// A State is that of a store as a whole.
type State struct {
	// Epoch names a life of the store. It is another one after the store was made
	// anew, so that revisions of one epoch say nothing about those of another. A
	// store that was put back to an earlier state may keep its epoch; its revision
	// shows it.
	Epoch string

	// Revision of the last change.
	Revision uint64

	// Expires: entries may go without an event because their time is over. In a
	// store that does not say so, it is odd if many do.
	Expires bool
}

// A Store holds the objects of one kind. The objects it returns are the caller's.
// It may be used concurrently.
type Store[T Object] interface {
	// Name of the store, for logs.
	Name() string

	// State returns the epoch and the last revision, as they are now.
	State(ctx context.Context) (State, error)

	// Get returns the object of the key as it is now: it sees every write that
	// was answered before it was called. It may return ErrNotFound,
	// ErrUndecodable, ErrInvalid.
	Get(ctx context.Context, key string) (T, error)

	// List yields the objects in no particular order. An EntryError stands for an
	// entry that cannot be decoded, and the list goes on. Another error is the
	// last one, and says that the list is not whole. An object that is missing in
	// a list may exist: ask Get before you act on it.
	List(ctx context.Context, o ...ListOption) iter.Seq2[T, error]

	// Create stores a new object and returns it with the metadata that the store
	// gives. What it has for a status is not stored. The object passed in is not
	// changed. It may return ErrAlreadyExists, ErrInvalid, ErrTooLarge.
	Create(ctx context.Context, obj T) (T, error)

	// Update replaces all but the status, if the revision of the object is that of
	// the one stored, and returns it as it is stored. Without a difference nothing
	// is written. If the object is being deleted and has no finalizers any more, it
	// is removed. It may return ErrConflict, ErrNotFound, ErrInvalid, ErrTooLarge.
	Update(ctx context.Context, obj T) (T, error)

	// UpdateStatus replaces the status and nothing else, as Update does. Fields
	// that T does not know are kept in the rest of the object.
	UpdateStatus(ctx context.Context, obj T) (T, error)

	// Delete removes the object, or marks it as being deleted if it has
	// finalizers. It may return ErrNotFound, ErrConflict, ErrInvalid.
	Delete(ctx context.Context, key string, o ...DeleteOption) error

	// Watch tells what there is, that this was all, and then what changes. Of
	// states of one entry that follow each other, it may tell the last alone. The
	// watch ends with the context.
	Watch(ctx context.Context, o ...WatchOption) (Watcher[T], error)
}

// A Watcher is a running watch. Whoever has it receives until the channel is
// closed, or calls Stop.
type Watcher[T any] interface {
	// Events returns the channel of events. It is closed when the watch ends.
	Events() <-chan Event[T]

	// Err tells why the channel was closed: ErrWatchEnded, ErrReplaced or the
	// error of the context; nil after Stop, or while it is open.
	Err() error

	// Stop ends the watch and frees what it holds. It may be called again.
	Stop()
}

// A Selection is what list and watch options say.
type Selection struct {
	// Prefix that keys have.
	Prefix string
}

// Has tells whether the key is selected.
func (s Selection) Has(key string) bool { return strings.HasPrefix(key, s.Prefix) }

// A ListOption restricts a list.
type ListOption interface{ ToList(s *Selection) }

// A WatchOption restricts a watch.
type WatchOption interface{ ToWatch(s *Selection) }

// WithPrefix selects the keys that begin with it, in lists and watches. The
// default is all.
func WithPrefix(prefix string) interface {
	ListOption
	WatchOption
} {
	return withPrefix(prefix)
}

type withPrefix string

func (p withPrefix) ToList(s *Selection)  { s.Prefix = string(p) }
func (p withPrefix) ToWatch(s *Selection) { s.Prefix = string(p) }

// ListSelection returns what the options say.
func ListSelection(o ...ListOption) Selection {
	var s Selection
	for _, apply := range o {
		apply.ToList(&s)
	}

	return s
}

// WatchSelection returns what the options say.
func WatchSelection(o ...WatchOption) Selection {
	var s Selection
	for _, apply := range o {
		apply.ToWatch(&s)
	}

	return s
}

// Preconditions of a deletion.
type Preconditions struct {
	// UID the object must have; empty is any.
	UID string

	// Revision the object must have; 0 is any.
	Revision uint64
}

// A DeleteOption restricts a deletion.
type DeleteOption func(p *Preconditions)

// IfUID deletes only the object of that UID. The default is any.
func IfUID(uid string) DeleteOption {
	return func(p *Preconditions) { p.UID = uid }
}

// IfRevision deletes only what has not changed since that revision. The default
// is any.
func IfRevision(revision uint64) DeleteOption {
	return func(p *Preconditions) { p.Revision = revision }
}

// DeletePreconditions returns what the options say.
func DeletePreconditions(o ...DeleteOption) Preconditions {
	var p Preconditions
	for _, apply := range o {
		apply(&p)
	}

	return p
}

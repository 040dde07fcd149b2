package store

import (
	"context"
	"iter"
	"strings"
)

// An Op is the kind of a change of an entry.
type Op uint8

// The operations. The zero value is Put.
const (
	// Put: the object was created or changed.
	Put Op = iota

	// Delete: the object was removed; the store may keep earlier states.
	Delete

	// Purge: the object and all its earlier states were removed.
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

// An Event is a change that a watch reports.
type Event[T any] struct {
	// Op is the kind of the change.
	Op Op

	// Key is the key of the entry. It is empty if Synced.
	Key string

	// Revision is the revision of the change. Events are in the order of their revisions, also within a snapshot.
	Revision uint64

	// Object is the object after a Put, with its revision. The receiver owns it.
	Object T

	// Err is an EntryError if the value of a Put cannot be decoded. Object is the zero value then. Other entries are
	// not affected.
	Err error

	// Synced is true if the event reports no change: the watch has reported all changes up to Revision. The first such
	// event ends the snapshot, which has one event per key. Further events with Synced may follow at any time.
	Synced bool

	// Epoch is the epoch of the store if Synced. See State.
	Epoch string
}

// A State is the state of a store: its epoch and its revision.
type State struct {
	// Epoch identifies the store between its creation and its deletion. Revisions of different epochs cannot be
	// compared. A store that was restored from a backup may keep its epoch; then its revision is lower.
	Epoch string

	// Revision is the revision of the last change.
	Revision uint64

	// Expires is true if entries have a TTL and may expire without an event. If it is false, many missing entries are a
	// sign of lost data.
	Expires bool
}

// A Store holds the objects of one kind. The caller owns the objects that it returns. Its methods may be called
// concurrently.
type Store[T Object] interface {
	// Name returns the name of the store, for logs.
	Name() string

	// State returns the current epoch and revision.
	State(ctx context.Context) (State, error)

	// Get returns the object of the key. The result includes every write that was acknowledged before the call. It may
	// return ErrNotFound, ErrUndecodable, ErrInvalid.
	Get(ctx context.Context, key string) (T, error)

	// List yields the objects in no particular order. It yields an EntryError for an entry that cannot be decoded,
	// and continues. Any other error ends the list, which is incomplete then. A list may be stale: call Get before
	// acting on a missing object.
	List(ctx context.Context, o ...ListOption) iter.Seq2[T, error]

	// Create stores a new object without its status, and returns it with the metadata that the store sets. It does
	// not modify obj. It may return ErrAlreadyExists, ErrInvalid, ErrTooLarge.
	Create(ctx context.Context, obj T) (T, error)

	// Update replaces everything except the status, if obj has the current revision, and returns the stored object.
	// It writes nothing if there is no difference. It removes an object that is being deleted and has no finalizers
	// left. It may return ErrConflict, ErrNotFound, ErrInvalid, ErrTooLarge.
	Update(ctx context.Context, obj T) (T, error)

	// UpdateStatus replaces only the status, with the conditions and errors of Update. It keeps all other fields of the
	// stored object, including fields that T does not have.
	UpdateStatus(ctx context.Context, obj T) (T, error)

	// Delete removes the object, or sets its deletion timestamp if it has finalizers. It may return ErrNotFound,
	// ErrConflict, ErrInvalid.
	Delete(ctx context.Context, key string, o ...DeleteOption) error

	// Watch reports the existing objects, then an event with Synced, and then changes. It may report only the last
	// of several successive states of an entry. The watch ends with the context.
	Watch(ctx context.Context, o ...WatchOption) (Watcher[T], error)
}

// A Watcher is a running watch. The owner receives from Events until the channel is closed, or calls Stop.
type Watcher[T any] interface {
	// Events returns the channel of events. It is closed when the watch ends.
	Events() <-chan Event[T]

	// Err returns the reason for which the channel was closed: ErrWatchEnded, ErrReplaced or the error of the context. It
	// returns nil after Stop, and while the channel is open.
	Err() error

	// Stop ends the watch and releases its resources. It may be called again.
	Stop()
}

// A Selection holds the combined list or watch options.
type Selection struct {
	// Prefix is the prefix of the selected keys.
	Prefix string
}

// Has returns whether the key is selected.
func (s Selection) Has(key string) bool { return strings.HasPrefix(key, s.Prefix) }

// A ListOption restricts a list.
type ListOption interface{ ToList(s *Selection) }

// A WatchOption restricts a watch.
type WatchOption interface{ ToWatch(s *Selection) }

// WithPrefix selects the keys with that prefix, in lists and watches. The default is all keys.
func WithPrefix(prefix string) interface {
	ListOption
	WatchOption
} {
	return withPrefix(prefix)
}

type withPrefix string

func (p withPrefix) ToList(s *Selection)  { s.Prefix = string(p) }
func (p withPrefix) ToWatch(s *Selection) { s.Prefix = string(p) }

// ListSelection applies list options to an empty Selection and returns it.
func ListSelection(o ...ListOption) Selection {
	var s Selection
	for _, apply := range o {
		apply.ToList(&s)
	}

	return s
}

// WatchSelection applies watch options to an empty Selection and returns it.
func WatchSelection(o ...WatchOption) Selection {
	var s Selection
	for _, apply := range o {
		apply.ToWatch(&s)
	}

	return s
}

// Preconditions restrict a deletion.
type Preconditions struct {
	// UID is the required UID of the object. Empty, the default, allows any UID.
	UID string

	// Revision is the required revision of the object. 0, the default, allows any revision.
	Revision uint64
}

// A DeleteOption restricts a deletion.
type DeleteOption func(p *Preconditions)

// IfUID deletes only an object with that UID. The default is any UID.
func IfUID(uid string) DeleteOption {
	return func(p *Preconditions) { p.UID = uid }
}

// IfRevision deletes only an object with that revision. The default is any revision.
func IfRevision(revision uint64) DeleteOption {
	return func(p *Preconditions) { p.Revision = revision }
}

// DeletePreconditions applies delete options to empty Preconditions and returns them.
func DeletePreconditions(o ...DeleteOption) Preconditions {
	var p Preconditions
	for _, apply := range o {
		apply(&p)
	}

	return p
}

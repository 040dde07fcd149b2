package store

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors of stores, to branch on with errors.Is. An error that matches none of them means that the store was
// unreachable or did not respond. The object may or may not exist, and a write may or may not have happened.
var (
	// ErrNotFound: there is no object with that key.
	ErrNotFound = errors.New("not found")

	// ErrAlreadyExists: Create found an object with that key.
	ErrAlreadyExists = errors.New("already exists")

	// ErrConflict: the object has changed since it was read. Read it again and retry.
	ErrConflict = errors.New("the object has changed since it was read")

	// ErrInvalid: the store rejects the request, for instance its key or a missing revision. Do not retry.
	ErrInvalid = errors.New("invalid")

	// ErrTooLarge: the value exceeds the limit of the store. Do not retry.
	ErrTooLarge = errors.New("value too large")

	// ErrUndecodable: the stored value cannot be decoded. See EntryError.
	ErrUndecodable = errors.New("cannot decode value")

	// ErrWrongKind: the bucket belongs to another kind or program. It was not changed.
	ErrWrongKind = errors.New("holds something else")

	// ErrWatchEnded: the watch may have missed events, or the store was deleted. Watch again.
	ErrWatchEnded = errors.New("watch ended")

	// ErrReplaced: the store was deleted and created again, or restored from a backup. It matches ErrWatchEnded as
	// well.
	ErrReplaced = fmt.Errorf("store was replaced: %w", ErrWatchEnded)
)

// An EntryError reports one entry that cannot be decoded; other entries are not affected. It matches
// ErrUndecodable.
type EntryError struct {
	// Key and Revision identify the entry.
	Key      string
	Revision uint64

	// Err is the cause.
	Err error
}

// Error names the entry. It does not quote the value.
func (e *EntryError) Error() string {
	return fmt.Sprintf("%v of %q: %v", ErrUndecodable, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// Is reports whether target is ErrUndecodable.
func (e *EntryError) Is(target error) bool { return target == ErrUndecodable }

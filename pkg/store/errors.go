package store

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// What a store's errors say, to branch on with errors.Is. An error that matches
// none of them says nothing about the object: the store could not be asked, or did
// not answer.
var (
	// ErrNotFound: there is no object of that key.
	ErrNotFound = errors.New("not found")

	// ErrAlreadyExists: Create found one.
	ErrAlreadyExists = errors.New("already exists")

	// ErrConflict: the object is not as it was when it was read. Read it again.
	ErrConflict = errors.New("the object has changed since it was read")

	// ErrInvalid: the store does not take this: a key it rejects, a revision that
	// is missing. Trying again is of no use.
	ErrInvalid = errors.New("invalid")

	// ErrTooLarge: the value is larger than what the store takes. Trying again is
	// of no use.
	ErrTooLarge = errors.New("value too large")

	// ErrUndecodable: what is stored there is not such an object. See EntryError.
	ErrUndecodable = errors.New("cannot decode value")

	// ErrWrongKind: the place holds something else, and nothing was changed.
	ErrWrongKind = errors.New("holds something else")

	// ErrWatchEnded: a watch cannot be sure any more that it tells everything, or
	// the store is gone. Watch again.
	ErrWatchEnded = errors.New("watch ended")

	// ErrReplaced: the store is not the one that it was: it was made anew, or put
	// back to an earlier state. It matches ErrWatchEnded as well.
	ErrReplaced = fmt.Errorf("store was replaced: %w", ErrWatchEnded)
)

// An EntryError is about one entry that cannot be read; the others can. It
// matches ErrUndecodable.
type EntryError struct {
	// Key and Revision of the entry.
	Key      string
	Revision uint64

	// Err says why.
	Err error
}

// Error names the entry. It does not quote the value.
func (e *EntryError) Error() string {
	return fmt.Sprintf("%v of %q: %v", ErrUndecodable, e.Key, e.Err)
}

// Unwrap returns the reason.
func (e *EntryError) Unwrap() error { return e.Err }

// Is tells that it is ErrUndecodable.
func (e *EntryError) Is(target error) bool { return target == ErrUndecodable }

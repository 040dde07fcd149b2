package managed

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// A stop is the error of a pass that stops without a failure of the object. It is a fact for Conclude, which decides
// how the pass ends.
type stop struct{ text string }

func (s *stop) Error() string { return s.text }

// All stops.
var (
	// errReplaced means that the object is gone, or that another object has its name.
	errReplaced = &stop{"the object was deleted or replaced meanwhile"}

	// errFenced means that an action was not begun, because this process must not act or is asked to stop.
	errFenced = &stop{"not begun"}

	// errCauseUnchanged means that nothing has changed that could resolve a terminal error.
	errCauseUnchanged = &stop{"nothing has changed since the last error"}

	// errDeletedButCached means that the object is gone but still in the cache. The memory of the object is kept until
	// the cache no longer has the object. It is a fact for Admit: no pass begins.
	errDeletedButCached = &stop{"the object is gone, and the cache does not know yet"}
)

// stopOf returns why a pass ended with an error. If the error is both fenced and a conflict, and conflicts persist,
// it returns that the process is fenced.
func stopOf(err error, conflictsPersist bool) lifecycle.Stop {
	fenced := err != nil && errors.Is(err, errFenced) && !isPanic(err)
	switch {
	case err == nil:
		return lifecycle.NotStopped
	case errors.Is(err, errReplaced):
		return lifecycle.ObjectGone
	case conflicts(err) && !isTerminal(err) && !(fenced && conflictsPersist):
		return lifecycle.Conflicted
	case fenced:
		return lifecycle.Fenced
	case errors.Is(err, errCauseUnchanged):
		return lifecycle.CauseUnchanged
	default:
		return lifecycle.Failed
	}
}

// statusWriteOf returns the result of a status write, given its error.
func statusWriteOf(err error) lifecycle.StatusWrite {
	switch {
	case err == nil:
		return lifecycle.Written
	case conflicts(err):
		return lifecycle.StatusConflicted
	case errors.Is(err, errReplaced):
		return lifecycle.StatusObjectGone
	case errors.Is(err, errFenced):
		return lifecycle.StatusFenced
	default:
		return lifecycle.StatusFailed
	}
}

// conflicts reports whether an error is a conflict. For nil it does so without a cost.
func conflicts(err error) bool { return err != nil && kerrors.IsConflict(err) }

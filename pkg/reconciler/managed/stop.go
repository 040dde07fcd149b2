package managed

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// A stop is the error of a pass that ends without a failure of the object.
type stop struct {
	reason  lifecycle.Stop
	text    string
	outcome outcome // if it is tried again later
}

func (s *stop) Error() string { return s.text }

// The stops that say nothing but their reason.
var (
	// errReplaced means that the object is gone, or that another object has its name.
	errReplaced = &stop{reason: lifecycle.ObjectGone, text: "the object was deleted or replaced meanwhile"}

	// errFenced means that an action was not begun, because this process must not act or is asked to stop.
	errFenced = &stop{reason: lifecycle.Fenced, text: "not begun"}

	// errCauseUnchanged means that nothing has changed that could resolve a terminal error.
	errCauseUnchanged = &stop{reason: lifecycle.CauseUnchanged, text: "nothing has changed since the last error"}

	// errDeletedButCached means that the object is gone but still in the cache. The memory of the object is kept until
	// the cache no longer has the object.
	errDeletedButCached = &stop{reason: lifecycle.Later, text: "the object is gone, and the cache does not know yet"}
)

// tryLater ends a pass that has changed nothing, and is tried again after a while.
func tryLater(o outcome) error {
	return &stop{reason: lifecycle.Later, text: "tried again later: " + o.name, outcome: o}
}

// stopOf returns why a pass ended with an error. If the error is both fenced and a conflict, and conflicts persist,
// it returns that the process is fenced.
func stopOf(err error, conflictsPersist bool) lifecycle.Stop {
	fenced := err != nil && errors.Is(err, errFenced) && !isPanic(err)
	switch {
	case err == nil:
		return lifecycle.NotStopped
	case asLater(err) != nil:
		return lifecycle.Later
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

// asLater returns the stop of an error that is tried again later, or nil.
func asLater(err error) *stop {
	var s *stop
	if err == nil || !errors.As(err, &s) || s.reason != lifecycle.Later {
		return nil
	}

	return s
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

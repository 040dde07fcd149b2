package external

import (
	"regexp"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ReasonTerminalError is the reason of a terminal error without a reason, or with one that
// cannot be stored in a condition.
const ReasonTerminalError = "TerminalError"

// conditionReason is the pattern that the API server enforces on the reason of a
// metav1.Condition. A reason that does not match would make it refuse the whole
// status.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonLength is the longest reason that a metav1.Condition may have.
const maxReasonLength = 1024

// AlreadyExists marks err, returned by a create, as the answer that the name is in use. That is no failure: the
// resource is observed again, and its owner decides what follows. The text stays that of err; nil stays nil.
func AlreadyExists(err error) error {
	if err == nil {
		return nil
	}

	return &alreadyExists{err: err}
}

// IsAlreadyExists reports whether err or an error it wraps was marked by
// AlreadyExists, or is what a Kubernetes API server answers in that case.
func IsAlreadyExists(err error) bool {
	return has[*alreadyExists](err) || kerrors.IsAlreadyExists(err)
}

// IsMarkedAlreadyExists reports whether err or an error it wraps was marked by
// AlreadyExists: the client has decided that the resource exists, and does not merely return
// an answer of an API server.
func IsMarkedAlreadyExists(err error) bool { return has[*alreadyExists](err) }

// NotCreated marks err, returned by a create, as one after which nothing was
// created: the request was refused, or never sent. The reconciler then calls Create
// again with backoff, and a deletion does not wait. Never mark a timeout or a
// cancelled context: after these the result is unknown. The text stays that of err;
// nil stays nil.
func NotCreated(err error) error {
	if err == nil {
		return nil
	}

	return &notCreated{err: err}
}

// IsNotCreated reports whether err or an error it wraps was marked by NotCreated.
func IsNotCreated(err error) bool { return has[*notCreated](err) }

// Terminal marks err as one that persists until the object or the external system changes.
// It is retried only rarely.
//
// The reason becomes that of a condition, so it is a CamelCase word that matches
// ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ of at most 1024 characters; any other
// becomes ReasonTerminalError, and the reconciler shows that in the place of one with a
// secret in it. The text stays that of err; nil stays nil.
func Terminal(reason string, err error) error {
	if err == nil {
		return nil
	}

	if len(reason) > maxReasonLength || !conditionReason.MatchString(reason) {
		reason = ReasonTerminalError
	}

	return &terminal{reason: reason, err: err}
}

// TerminalReason returns the reason with which err or an error it wraps was
// marked by Terminal, and whether there was one. The outermost mark wins.
func TerminalReason(err error) (string, bool) {
	if err == nil { // the usual case, without an allocation
		return "", false
	}
	var t *terminal
	if !errors.As(err, &t) {
		return "", false
	}

	return t.reason, true
}

func has[E error](err error) bool {
	if err == nil {
		return false
	}
	var target E

	return errors.As(err, &target)
}

type alreadyExists struct{ err error }

func (e *alreadyExists) Error() string { return e.err.Error() }
func (e *alreadyExists) Unwrap() error { return e.err }

type notCreated struct{ err error }

func (e *notCreated) Error() string { return e.err.Error() }
func (e *notCreated) Unwrap() error { return e.err }

type terminal struct {
	reason string
	err    error
}

func (e *terminal) Error() string { return e.err.Error() }
func (e *terminal) Unwrap() error { return e.err }

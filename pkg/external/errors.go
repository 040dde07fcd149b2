package external

import (
	"regexp"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ReasonTerminalError is the reason of a terminal error whose own reason is empty or cannot be stored in a condition.
const ReasonTerminalError = "TerminalError"

// conditionReason is the pattern that the API server enforces on the reason of a
// metav1.Condition. A reason that does not match would make it refuse the whole
// status.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonLength is the longest reason that a metav1.Condition may have.
const maxReasonLength = 1024

// AlreadyExists marks an error of a create as the response that the name is in use. The reconciler does not treat it
// as a failure: it observes the resource again and decides by the owner of the resource. The text of the result is
// the text of err. For nil it returns nil.
func AlreadyExists(err error) error {
	if err == nil {
		return nil
	}

	return &alreadyExists{err: err}
}

// IsAlreadyExists reports whether err or an error it wraps was marked by AlreadyExists, or is the AlreadyExists error
// of a Kubernetes API server.
func IsAlreadyExists(err error) bool {
	return has[*alreadyExists](err) || kerrors.IsAlreadyExists(err)
}

// IsMarkedAlreadyExists reports whether err or an error it wraps was marked by AlreadyExists. The unmarked error of a
// Kubernetes API server does not count: only the mark shows that the client has decided that the resource exists.
func IsMarkedAlreadyExists(err error) bool { return has[*alreadyExists](err) }

// NotCreated marks an error of a create after which nothing was created, because the request was refused or never
// sent. The reconciler then calls Create again with backoff. A deletion of the object does not wait.
//
// Never mark a timeout or a canceled context, because the result of the request is then unknown. The text of the
// result is the text of err. For nil it returns nil.
func NotCreated(err error) error {
	if err == nil {
		return nil
	}

	return &notCreated{err: err}
}

// IsNotCreated reports whether err or an error it wraps was marked by NotCreated.
func IsNotCreated(err error) bool { return has[*notCreated](err) }

// Terminal marks err as an error that persists until the object or the external system changes. The reconciler
// retries it only rarely.
//
// The reason becomes the reason of a condition. It must be a CamelCase word of at most 1024 characters that matches
// ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$. Any other reason becomes ReasonTerminalError. The reconciler also shows
// ReasonTerminalError instead of a reason that contains a secret. The text of the result is the text of err. For nil
// it returns nil.
func Terminal(reason string, err error) error {
	if err == nil {
		return nil
	}

	if len(reason) > maxReasonLength || !conditionReason.MatchString(reason) {
		reason = ReasonTerminalError
	}

	return &terminal{reason: reason, err: err}
}

// TerminalReason returns the reason that Terminal set on err or an error it wraps. If Terminal was not applied, it
// returns false. The outermost mark wins.
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

package limit

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Texts of errors. They are the same for all objects.
const (
	textThrottled    = "call held back: more is asked of the external system than it allows"
	textUnavailable  = "call held back: the external system is unavailable"
	textUnauthorized = "call held back: the external system does not accept the credentials"
	textCanceled     = "call held back until its context ended"
)

// IsHeld reports whether err means that a Gate has held the call. No call was made. The cause concerns the whole
// connection, so report it once for the connection, not for each object.
func IsHeld(err error) bool {
	var h *heldError

	return errors.As(err, &h)
}

// canceledError returns the error of a call whose context ended while it waited.
func canceledError(ctx context.Context) error {
	return external.NotCreated(&heldError{text: textCanceled, cause: context.Cause(ctx)})
}

// newHeldError returns the error of a call that is held for a reason of a State and may
// be retried after a delay.
func newHeldError(reason string, after time.Duration) error {
	switch reason {
	case ReasonUnavailable:
		err := external.Unavailable(&heldError{text: textUnavailable})

		return external.RetryAfter(after, external.NotCreated(err))
	case ReasonUnauthorized:
		err := external.Unauthorized(&heldError{text: textUnauthorized})

		return external.RetryAfter(after, external.NotCreated(err))
	default:
		return external.RetryAfter(after, external.NotCreated(&heldError{text: textThrottled}))
	}
}

type heldError struct {
	text  string
	cause error
}

func (e *heldError) Error() string { return e.text }
func (e *heldError) Unwrap() error { return e.cause }

// Held marks the error for package connection, which cannot import this package: no call was made.
func (e *heldError) Held() bool { return true }

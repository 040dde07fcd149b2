package limit

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Texts of errors. They do not differ from one object to the next.
const (
	textThrottled    = "call held back: more is asked of the external system than it allows"
	textUnavailable  = "call held back: the external system is unavailable"
	textUnauthorized = "call held back: the external system does not accept the credentials"
	textGaveUp       = "call held back until nobody waited for it any more"
)

// IsHeld reports whether err says that a gate has not let a call through. Then
// nothing was called, and what is wrong concerns the connection as a whole: tell it
// there and not with each object.
func IsHeld(err error) bool {
	var h *heldError

	return errors.As(err, &h)
}

// gaveUp returns the error of a call for whose turn nobody waited.
func gaveUp(ctx context.Context) error {
	return external.NotCreated(&heldError{text: textGaveUp, cause: context.Cause(ctx)})
}

// held returns the error of a call that is held back for a reason.
func held(reason string, after time.Duration) error {
	switch reason {
	case ReasonUnavailable:
		return external.RetryAfter(after, external.NotCreated(external.Unavailable(&heldError{text: textUnavailable})))
	case ReasonUnauthorized:
		return external.RetryAfter(after, external.NotCreated(external.Unauthorized(&heldError{text: textUnauthorized})))
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

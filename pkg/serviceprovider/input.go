package serviceprovider

import "github.com/moorage-dev/moorage/pkg/errors"

// ErrInvalidUserInput means that the spec of an object cannot be reconciled until its user changes it. Wrap it:
// errors.Wrap(ErrInvalidUserInput, "there is no version 3").
var ErrInvalidUserInput = errors.New("invalid user input")

// IgnoreInvalidUserInput returns nil if the error is or wraps ErrInvalidUserInput, and otherwise the error unchanged. A
// Reconciler that has reported the invalid input in the status passes its error through this function. The object is
// then reconciled when it changes and at the poll interval, without a logged error and without a retry.
func IgnoreInvalidUserInput(err error) error {
	if errors.Is(err, ErrInvalidUserInput) {
		return nil
	}

	return err
}

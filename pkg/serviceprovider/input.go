package serviceprovider

import "github.com/moorage-dev/moorage/pkg/errors"

// ErrInvalidUserInput is for an object whose spec cannot be reconciled until its user changes it.
// Wrap it: errors.Wrap(ErrInvalidUserInput, "there is no version 3").
var ErrInvalidUserInput = errors.New("invalid user input")

// IgnoreInvalidUserInput returns nil for an ErrInvalidUserInput, and any other error unchanged. Use
// it for the error of a Reconciler that has reported the invalid input in the status: the object is
// then reconciled when it changes and at the poll interval, without a logged error and without a
// retry.
func IgnoreInvalidUserInput(err error) error {
	if errors.Is(err, ErrInvalidUserInput) {
		return nil
	}

	return err
}

package serviceprovider

import "github.com/moorage-dev/moorage/pkg/errors"

// ErrInvalidUserInput says that an object asks for what cannot be done, and that only its user
// can change that. Wrap it: errors.Wrap(ErrInvalidUserInput, "there is no version 3").
var ErrInvalidUserInput = errors.New("invalid user input")

// IgnoreInvalidUserInput returns nil for an ErrInvalidUserInput, and any other error as it is. A
// Reconciler returns what it returns, once it has said in the status what is wrong: the
// object is looked at again when it changes, and at the poll interval, and no error is logged or tried again.
func IgnoreInvalidUserInput(err error) error {
	if errors.Is(err, ErrInvalidUserInput) {
		return nil
	}

	return err
}

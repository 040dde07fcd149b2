package recipes

import (
	"bytes"
	"crypto/rand"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A Rotation has the passwords that Connect has read from the Secret.
type Rotation struct{ Current, Next []byte }

// step returns the details that Observe returns, and the password that Update has to set, or nil. The argument works
// logs in with a password. A rotation is done when both passwords are equal.
func (r Rotation) step(requested bool, works func(password []byte) (bool, error)) (
	details managed.ConnectionDetails, set []byte, err error) {
	rotating := len(r.Next) > 0 && !bytes.Equal(r.Current, r.Next)
	current := r.Current
	if rotating {
		current = r.Next
	}
	ok, err := works(current)
	switch {
	case err != nil:
		return nil, nil, err
	case !ok:
		set = current // it is in the Secret, because Connect has read it there
	case rotating:
		r.Current = r.Next // the new password works: promote it
	case requested:
		r.Next = []byte(rand.Text()) // it is only published in this pass, and set in the next one
	}

	return managed.ConnectionDetails{"password": r.Current, "nextPassword": r.Next}, set, nil
}

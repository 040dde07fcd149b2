package connection

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Unsure marks an error of a Resolver after which the settings are unknown. An example is a timeout, or an API server
// that is overloaded or unreachable. Acquire then still returns the last connection for some time, see Cache.Acquire
// and WithUncertainty.
//
// Do not mark errors after which the connection must not be used: the settings do not exist, are forbidden or are
// malformed. The text of the result is the text of err. For nil it returns nil.
func Unsure(err error) error {
	if err == nil {
		return nil
	}

	return &unsure{err: err}
}

// IsUnsure reports whether err or an error it wraps was marked by Unsure.
func IsUnsure(err error) bool {
	var u *unsure

	return errors.As(err, &u)
}

type unsure struct{ err error }

func (u *unsure) Error() string { return u.err.Error() }
func (u *unsure) Unwrap() error { return u.err }

// tolerateUnsure returns nil for an Unsure error if the last build of the same version
// succeeded, or was Unsure since less than limit. It returns other errors unchanged.
func (e *entry[C]) tolerateUnsure(version string, err error, now time.Time, limit time.Duration) error {
	if !IsUnsure(err) {
		e.unsureSince = time.Time{}

		return err
	}
	if e.current == nil || e.err != nil || e.version != version {
		return err
	}
	if e.unsureSince.IsZero() {
		e.unsureSince = now
	}
	if now.Sub(e.unsureSince) >= limit {
		return err
	}

	return nil
}

package connection

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Unsure marks err, returned by a Resolver, as one that says nothing about the
// settings: the Secret may well be as it was, but it could not be read now, for a
// timeout, a server that is overloaded or away. Whoever has a connection goes on
// with it then, for some time: see Cache.Acquire and WithUncertainty. Do not mark
// what says that the connection must not be used any more: settings that are gone,
// forbidden or malformed. The text stays that of err; nil stays nil.
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

// judge returns what a look that ended with err means for those who wait: no
// error at all if it is an unsure one, and the look before it said, or is still
// believed to say, that the current connection is right for the version.
func (e *entry[C]) judge(version string, err error, now time.Time, limit time.Duration) error {
	if !IsUnsure(err) {
		e.doubted = time.Time{}

		return err
	}
	if e.current == nil || e.err != nil || e.version != version {
		return err
	}
	if e.doubted.IsZero() {
		e.doubted = now
	}
	if now.Sub(e.doubted) >= limit {
		return err
	}

	return nil
}

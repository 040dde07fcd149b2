package connection

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// The time between two builds of a revision that was rejected. It doubles with each rejection.
const (
	firstLogin   = 10 * time.Second
	longestLogin = 5 * time.Minute
)

// rejection is the result of the last build of an entry whose credentials were rejected. It is guarded by the lock of
// the cache. The zero value rejects nothing.
type rejection struct {
	revision string
	err      error
	secrets  *redact.Secrets // read by the build
	interval time.Duration
	until    time.Time // before this no build of the revision is tried again
}

// isRejected reports whether err says that a login was made and the system rejected its credentials. The errors of
// package external have these methods, and this package is below that one.
func isRejected(err error) bool {
	var rejected interface{ Unauthorized() bool }
	var held interface{ Held() bool } // no login was made

	return errors.As(err, &rejected) && !errors.As(err, &held)
}

// refuse returns the error of the last build if the revision must not be built now. The context of the build then
// has the secrets that may be in the error.
func (r *rejection) refuse(ctx context.Context, revision string, now time.Time) error {
	if r.err == nil || r.revision != revision || !now.Before(r.until) {
		return nil
	}
	r.secrets.Conceal(ctx)

	return r.err
}

// record updates the rejection after a build of a revision. Another error than a rejection proves nothing.
func (r *rejection) record(revision string, err error, secrets *redact.Secrets, now time.Time) {
	switch {
	case err == nil:
		*r = rejection{}
	case isRejected(err):
		interval := firstLogin
		if r.err != nil && r.revision == revision {
			interval = min(2*r.interval, longestLogin)
		}
		*r = rejection{revision, err, secrets, interval, now.Add(interval)}
	}
}

package recipes

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// A Refusal is the answer of a server that limits its clients.
type Refusal struct {
	TooManyRequests  bool          // too many calls
	TooManyDatabases bool          // too many resources
	After            time.Duration // until the next call may come; 0: not known
	Text             string
}

// Error returns the text of the answer.
func (r *Refusal) Error() string { return r.Text }

// limited marks an answer of a server that limits its clients.
func limited(r *Refusal) error {
	switch {
	case r.TooManyRequests: // all objects of the connection slow down
		return external.Throttled("requests", r.After, external.NotCreated(r))
	case r.TooManyDatabases: // only this object waits, and users read the reason
		return external.RetryAfter(10*time.Minute, external.NotCreated(r))
	default:
		return r
	}
}

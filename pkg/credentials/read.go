package credentials

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/connection"
)

// ReadError marks an error with which the read of the Secret of that name ended, for the
// Resolver of a connection.Cache:
//
//   - the API server says that there is no such Secret: connection.Missing, which nobody
//     needs: whoever knows who does marks it once more;
//   - it is forbidden to read it: not at all, so that nobody keeps the connection;
//   - anything else, such as a server that is away, or a 404 that is not about the Secret:
//     connection.Unsure.
//
// The text stays that of err; nil stays nil.
func ReadError(err error, secret string) error {
	switch {
	case gone.Answered(err, secret):
		return connection.Missing(err, nil)
	case kerrors.IsForbidden(err):
		return err
	default:
		return connection.Unsure(err)
	}
}

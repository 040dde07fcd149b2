package credentials

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/connection"
)

// ReadError classifies the error of a read of a Secret for the Resolver of a connection.Cache. It returns one of these
// errors, with the same text as err:
//
//   - connection.Missing without users, if the API server has responded that the Secret does not exist. A caller that
//     has the users adds them by calling connection.Missing again.
//   - err itself, if the read is forbidden. The cache then closes the connection.
//   - connection.Unsure, in all other cases, such as an unavailable server, or a 404 that is not about the Secret.
//
// If err is nil, ReadError returns nil.
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

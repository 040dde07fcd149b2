package credentials

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/connection"
)

// ReadError marks the error of a read of the Secret of that name, for the Resolver of a
// connection.Cache:
//
//   - the API server says that there is no such Secret: connection.Missing without users,
//     which a caller that knows the users adds by marking it again;
//   - the read is forbidden: no mark, so that the connection is not kept;
//   - anything else, such as an unavailable server, or a 404 that is not about the Secret:
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

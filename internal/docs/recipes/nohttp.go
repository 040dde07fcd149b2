package recipes

import (
	"context"
	"net"
	"net/textproto"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// errLost is the text of all failures of the connection. A driver has many texts for them, which alternate.
var errLost = errors.New("the connection to the server is lost")

// classify marks an error of a driver, here of a protocol of lines, with its meaning for the reconciler.
func classify(err error) error {
	var answer *textproto.Error // what the server itself says
	var dial *net.OpError
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err // whether the request had an effect is not known
	case errors.As(err, &answer) && answer.Code == 530:
		return external.Unauthorized(err)
	case errors.As(err, &answer) && answer.Code == 550:
		return external.NotFound(err)
	case errors.As(err, &answer) && answer.Code/100 == 5:
		return external.Terminal("InvalidRequest", external.NotCreated(err))
	case errors.As(err, &answer):
		return err
	case errors.As(err, &dial) && dial.Op == "dial":
		return external.Unavailable(external.NotCreated(errors.New("cannot connect to the server")))
	default:
		return external.Unavailable(external.MaybeCreated(errLost))
	}
}

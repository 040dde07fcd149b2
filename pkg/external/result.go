package external

import (
	"net"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// IsInterrupted reports whether err shows that a call was interrupted by a deadline, by a canceled context, or by a
// connection that broke after it was established.
func IsInterrupted(err error) bool {
	for _, cut := range cuts {
		if errors.Is(err, cut) {
			return true
		}
	}
	var timeout net.Error
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op != "dial"
	}

	return errors.As(err, &timeout) && timeout.Timeout()
}

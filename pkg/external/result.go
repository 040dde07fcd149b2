package external

import (
	"net"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// IsInterrupted reports whether err says that a call was cut off, by a deadline, a
// cancelled context or a connection that broke after it was made.
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

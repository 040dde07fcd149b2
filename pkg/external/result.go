package external

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// IsRefused reports whether err says by itself that the one request it is about
// had no effect: no connection was made to send it, or the system answered that
// the request is at fault. The latter is told by the status of a Kubernetes API
// error, and by a method StatusCode or HTTPStatusCode, as the errors of many
// clients have it.
//
// A Create that consists of one request, which nothing repeats under way, may
// mark such an error:
//
//	if external.IsRefused(err) {
//		return external.NotCreated(err)
//	}
//
// It proves nothing for a Create of several requests, one of which succeeded, nor
// for a client that tries again by itself and returns its last error.
func IsRefused(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "dial"
	}
	switch code := statusOf(err); code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // the request, or an earlier one, may have been served
	default:
		return code >= 400 && code < 500
	}
}

func statusOf(err error) int {
	var api kerrors.APIStatus
	var plain interface{ StatusCode() int }
	var http interface{ HTTPStatusCode() int }
	switch {
	case errors.As(err, &api):
		return int(api.Status().Code)
	case errors.As(err, &plain):
		return plain.StatusCode()
	case errors.As(err, &http):
		return http.HTTPStatusCode()
	default:
		return 0
	}
}

// IsInterrupted reports whether err says that a call was cut off, by a deadline, a
// cancelled context or a connection that broke after it was made.
func IsInterrupted(err error) bool {
	for _, cut := range []error{
		context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	} {
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

package clusters

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// OnUnauthorized calls the function notify each time a server rejects the credentials of a client, because the
// credentials were rotated or revoked. It covers clients that are made from the configuration after the call of
// OnUnauthorized. The function notify may be called concurrently and must not block.
func OnUnauthorized(config *rest.Config, notify func()) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &unauthorizedTransport{next, notify} })
}

// An unauthorizedTransport reports responses with the status 401.
type unauthorizedTransport struct {
	next   http.RoundTripper
	notify func()
}

var _ utilnet.RoundTripperWrapper = &unauthorizedTransport{}

// RoundTrip sends a request.
func (l *unauthorizedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		l.notify()
	}

	return response, err
}

// WrappedRoundTripper returns the next transport, so that idle connections can be closed.
func (l *unauthorizedTransport) WrappedRoundTripper() http.RoundTripper { return l.next }

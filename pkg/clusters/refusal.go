package clusters

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// OnUnauthorized lets told be called whenever a server does not accept the credentials of
// a configuration, from whatever is made of it after this: they have been rotated, or
// withdrawn. It may be called by many goroutines at once, and must not wait.
func OnUnauthorized(config *rest.Config, told func()) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &listening{next, told} })
}

// A listening transport tells of refusals.
type listening struct {
	next http.RoundTripper
	told func()
}

var _ utilnet.RoundTripperWrapper = &listening{}

// RoundTrip sends a request.
func (l *listening) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		l.told()
	}

	return response, err
}

// WrappedRoundTripper returns the transport below, which closes connections.
func (l *listening) WrappedRoundTripper() http.RoundTripper { return l.next }

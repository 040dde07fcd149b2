package external

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// harmless are the operations of a *url.Error without an effect. They are the safe methods, as net/http writes them,
// and the operation of [url.Parse].
var harmless = []string{"Get", "Head", "Options", "Trace", "parse"}

// unsent are the prefixes of errors that net/http, and usual transports around it, return before they send a request.
var unsent = []string{
	"unsupported protocol scheme ", "http: no Host in request URL", "http: nil Request.", "http: Request.RequestURI ",
	"net/http: invalid header ", "net/http: invalid trailer ", "net/http: invalid method ",
	"oauth2: ", "getting credentials: ", // of golang.org/x/oauth2 and client-go
}

// unanswered reports whether err is that of a request over HTTP that changes something, unless
// it shows that the request was not sent. It is called only if there is no other evidence: most
// errors of a connection that is lost while net/http waits for a response have neither a type
// nor a sentinel, and the cause of a context may be any error.
func unanswered(err error) bool {
	request, ok := err.(*url.Error) //nolint:errorlint // each error of the tree is asked by itself
	if !ok || request == nil || slices.Contains(harmless, request.Op) {
		return false
	}
	text := ""
	if request.Err != nil {
		text = request.Err.Error()
	}

	return !refusedByProxy(text) && !slices.ContainsFunc(unsent,
		func(beginning string) bool { return strings.HasPrefix(text, beginning) })
}

// refusedByProxy reports whether a text is the whole error of net/http for a proxy that refused to connect. The text
// is the name of an HTTP status without effect.
func refusedByProxy(text string) bool {
	for code := http.StatusBadRequest; code < http.StatusInternalServerError; code++ {
		if name := http.StatusText(code); name != "" && name == text {
			return ofStatus(code) == EffectNone
		}
	}

	return false
}

// lost are the texts of errors of net/http and golang.org/x/net/http2 that have neither a type nor a sentinel. They
// mean that the connection or the request ended before the whole response had arrived.
var lost = []string{
	"http2: client connection lost",
	"http2: client connection force closed via ClientConn.Close",
	"http2: Transport received Server's graceful shutdown GOAWAY",
	"http2: response body closed",
	"http: server closed idle connection",
	"http: unexpected EOF reading trailer",
	"net/http: request canceled",
}

// ofLost finds a lost connection by its text, also without the *url.Error that a client puts
// round it: the body of a response returns such errors as they are.
func ofLost(err error) Effect {
	text := err.Error()
	if slices.Contains(lost, text) || strings.HasPrefix(text, "net/http: HTTP/1.x transport connection broken: ") {
		return EffectPossible
	}

	return EffectUnknown
}

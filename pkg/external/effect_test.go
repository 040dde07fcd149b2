package external

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	stderrors "errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors in the shapes that clients have them.
type (
	methodError  struct{ code int }                // as of many
	httpError    struct{ code int }                // as of AWS
	statusError  struct{ StatusCode int }          // as of krateo's httplib
	pointerError struct{ StatusCode *int }         // as of azuredevops
	codeError    struct{ Code int }                // as of Google's APIs, and of many that mean something else
	wordError    struct{ Code string }             // as of AWS and PostgreSQL
	answerError  struct{ Response *http.Response } // as of go-github, go-gitlab and godo
	embedError   struct{ *http.Response }
	grpcError    struct{ status *grpcStatus }
	grpcStatus   struct {
		code    grpcCode
		message string
	}
	grpcCode    uint32
	strangeGRPC struct{}
	lazyError   struct{}
	sameError   struct{}
	bombError   struct{ bomb any }
	slowError   struct{ err error }
	selfError   struct{}
	wrapError   struct {
		StatusCode int
		err        error
	}
	// A StreamError is called as that of HTTP/2 is, in another package.
	StreamError struct{ Code uint32 }
)

func (e methodError) Error() string         { return "boom" }
func (e methodError) StatusCode() int       { return e.code }
func (e httpError) Error() string           { return "boom" }
func (e httpError) HTTPStatusCode() int     { return e.code }
func (e *statusError) Error() string        { return "boom" }
func (e pointerError) Error() string        { return "boom" }
func (e codeError) Error() string           { return "boom" }
func (e wordError) Error() string           { return "boom" }
func (e *answerError) Error() string        { return "boom" }
func (e embedError) Error() string          { return "boom" }
func (e grpcError) Error() string           { return "boom" }
func (e grpcError) GRPCStatus() *grpcStatus { return e.status }
func (s *grpcStatus) Code() grpcCode        { return s.code }
func (s *grpcStatus) Message() string       { return s.message }
func (strangeGRPC) Error() string           { return "boom" }
func (strangeGRPC) GRPCStatus() error       { return nil }
func (lazyError) Error() string             { return "boom" }
func (lazyError) Timeout() bool             { return true }
func (sameError) Error() string             { return "boom" }
func (sameError) Is(target error) bool      { return target == io.EOF }
func (e bombError) Error() string           { return "boom" }
func (e bombError) StatusCode() int         { panic(e.bomb) }
func (e bombError) HTTPStatusCode() int     { panic(e.bomb) }
func (e bombError) GRPCStatus() error       { panic(e.bomb) }
func (e bombError) Timeout() bool           { panic(e.bomb) }
func (e bombError) Is(error) bool           { panic(e.bomb) }
func (e bombError) Unwrap() error           { panic(e.bomb) }
func (e slowError) Error() string           { return "boom" }
func (e slowError) Timeout() bool           { return true }
func (e slowError) Unwrap() error           { return e.err }
func (e selfError) Error() string           { return "boom" }
func (e selfError) Unwrap() error           { return e }
func (e wrapError) Error() string           { return "boom" }
func (e wrapError) Unwrap() error           { return e.err }
func (StreamError) Error() string           { return "boom" }
func grpc(code grpcCode, m ...string) error { return grpcError{&grpcStatus{code, fmt.Sprint(m)}} }

// TestEffectOf has the effect of each error, with and without fields called Code.
func TestEffectOf(t *testing.T) {
	const unknown, none, possible = EffectUnknown, EffectNone, EffectPossible
	dial := func(err error) error { return &net.OpError{Op: "dial", Err: err} }
	request := func(op string, err error) error { return &url.Error{Op: op, URL: "https://x", Err: err} }
	busy := 429
	kube := schema.GroupResource{Resource: "streams"}
	cases := map[string]struct {
		err   error
		want  Effect
		exact Effect
	}{
		"nil":                 {nil, unknown, unknown},
		"a plain error":       {errBoom, unknown, unknown},
		"a plain one wrapped": {errors.Wrap(errBoom, "cannot create"), unknown, unknown},

		"not created":                 {NotCreated(io.EOF), none, none},
		"not created, wrapped":        {errors.Wrap(NotCreated(io.EOF), "x"), none, none},
		"already exists":              {AlreadyExists(errBoom), none, none},
		"maybe created":               {MaybeCreated(errBoom), possible, possible},
		"maybe created, refused":      {MaybeCreated(&statusError{400}), possible, possible},
		"the outermost mark: none":    {NotCreated(errors.Wrap(MaybeCreated(errBoom), "x")), none, none},
		"the outermost mark: maybe":   {MaybeCreated(errors.Wrap(NotCreated(errBoom), "x")), possible, possible},
		"another mark says nothing":   {Terminal("TooBig", errBoom), unknown, unknown},
		"another mark, and a refusal": {Terminal("TooBig", &statusError{422}), none, none},

		"no connection":             {dial(syscall.ECONNREFUSED), none, none},
		"no connection in time":     {dial(os.ErrDeadlineExceeded), none, none},
		"no connection for a URL":   {&url.Error{Op: "Post", Err: dial(lazyError{})}, none, none},
		"a name that is not known":  {dial(&net.DNSError{IsNotFound: true}), none, none},
		"a connection that broke":   {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, possible, possible},
		"it broke while it was new": {&net.OpError{Op: "write", Err: dial(errBoom)}, possible, possible},
		"none, as a nil pointer":    {(*net.OpError)(nil), possible, possible},
		"a deadline":                {context.DeadlineExceeded, possible, possible},
		"a cancelled context":       {errors.Wrap(context.Canceled, "x"), possible, possible},
		"the end of a connection":   {&url.Error{Op: "Post", Err: io.EOF}, possible, possible},
		"half of an answer":         {io.ErrUnexpectedEOF, possible, possible},
		"a closed connection":       {net.ErrClosed, possible, possible},
		"a broken pipe":             {syscall.EPIPE, possible, possible},
		"what is such an error":     {sameError{}, possible, possible},
		"a timeout of its own":      {lazyError{}, possible, possible},
		"a timeout of a refusal":    {slowError{&statusError{400}}, none, none},
		"a timeout of nothing":      {slowError{errBoom}, possible, possible},
		"a request that changes":    {request("Post", errBoom), possible, possible},
		"a request of its own kind": {request("Purge", errBoom), possible, possible},
		"a request that reads":      {request("Get", errBoom), unknown, unknown},
		"a request that asks":       {request("Head", errBoom), unknown, unknown},
		"a URL that is none":        {errors.Wrap(request("parse", errBoom), "x"), unknown, unknown},
		"a request of nothing":      {request("Post", nil), possible, possible},
		"a request, as nil":         {(*url.Error)(nil), unknown, unknown},
		"a request that is refused": {request("Post", &statusError{400}), none, none},
		"a request, not sent":       {request("Post", NotCreated(errBoom)), none, none},
		"a request to no scheme": {request("Post", fmt.Errorf("unsupported protocol scheme %q", "x")), unknown,
			unknown},
		"a request with no host": {request("Post", stderrors.New("http: no Host in request URL")), unknown, unknown},
		"a request, no credentials": {request("Post", stderrors.New("getting credentials: exec: not found")), unknown,
			unknown},
		"a request, no token": {request("Post",
			stderrors.New("oauth2: token expired and refresh token is not set")), unknown, unknown},
		"a proxy that wants a name": {request("Post", stderrors.New("Proxy Authentication Required")), unknown, unknown},
		"a request, a bad gateway":  {request("Post", stderrors.New("Bad Gateway")), possible, possible},
		"of several, one request":   {stderrors.Join(&statusError{400}, request("Post", errBoom)), possible, possible},
		"a lost connection": {errors.Wrap(stderrors.New("http2: client connection lost"), "x"), possible,
			possible},
		"a closed one, of HTTP/2": {stderrors.New("http2: client connection force closed via ClientConn.Close"),
			possible, possible},
		"a graceful shutdown": {stderrors.New("http2: Transport received Server's graceful shutdown GOAWAY"),
			possible, possible},
		"a body that was closed": {stderrors.New("http2: response body closed"), possible, possible},
		"an idle connection":     {stderrors.New("http: server closed idle connection"), possible, possible},
		"a cancelled request":    {stderrors.New("net/http: request canceled"), possible, possible},
		"half of a trailer":      {stderrors.New("http: unexpected EOF reading trailer"), possible, possible},
		"a broken one, of HTTP/1": {errors.Wrap(fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w",
			errBoom), "x"), possible, possible},
		"a lost one, in a text": {stderrors.New("boom: http2: client connection lost"), unknown, unknown},
		"a lost one, and a refusal": {wrapError{400, stderrors.New("http2: client connection lost")}, possible,
			possible},
		"a proxy, not reached": {request("Post",
			&net.OpError{Op: "proxyconnect", Err: dial(context.DeadlineExceeded)}), none, none},
		"a proxy that refuses": {request("Post", &net.OpError{Op: "socks connect", Err: io.EOF}), none, none},
		"a proxy, while it wrote": {&net.OpError{Op: "write", Err: &net.OpError{Op: "proxyconnect"}}, possible,
			possible},
		"joined: a proxy, and more": {stderrors.Join(&net.OpError{Op: "proxyconnect"}, io.EOF), possible, possible},
		"a name, without a dial":    {errors.Wrap(&net.DNSError{IsNotFound: true}, "x"), none, none},
		"a name, not in time":       {&net.DNSError{IsTimeout: true, UnwrapErr: context.DeadlineExceeded}, none, none},
		"a name, as nil":            {(*net.DNSError)(nil), unknown, unknown},
		"joined: a name, and a cut": {stderrors.Join(&net.DNSError{}, io.EOF), possible, possible},
		"refused, without a dial":   {os.NewSyscallError("connect", syscall.ECONNREFUSED), none, none},
		"refused, while it read":    {&net.OpError{Op: "read", Err: syscall.ECONNREFUSED}, possible, possible},
		"another error of a system": {os.NewSyscallError("connect", syscall.EHOSTUNREACH), unknown, unknown},
		"a certificate":             {request("Post", &tls.CertificateVerificationError{Err: errBoom}), none, none},
		"a certificate, as nil":     {(*tls.CertificateVerificationError)(nil), unknown, unknown},
		"an unknown authority":      {request("Post", x509.UnknownAuthorityError{}), none, none},
		"another host": {errors.Wrap(x509.HostnameError{Certificate: &x509.Certificate{}}, "x"), none,
			none},
		"an expired certificate": {x509.CertificateInvalidError{Reason: x509.Expired}, none, none},
		"no authorities":         {x509.SystemRootsError{}, none, none},
		"no TLS, but HTTP":       {request("Post", http.ErrSchemeMismatch), none, none},
		"no TLS":                 {request("Post", tls.RecordHeaderError{Conn: &net.TCPConn{}}), none, none},
		"no TLS any more":        {request("Post", tls.RecordHeaderError{}), possible, possible},
		"joined: TLS, and a cut": {stderrors.Join(x509.UnknownAuthorityError{}, context.Canceled), possible,
			possible},
		"an alert": {request("Post", &net.OpError{Op: "remote error", Err: tls.AlertError(40)}),
			none, none},
		"an alert of a certificate": {request("Post", &net.OpError{Op: "remote error", Err: tls.AlertError(45)}),
			possible, possible},
		"an alert of its own": {request("Post", &net.OpError{Op: "local error", Err: tls.AlertError(40)}),
			possible, possible},
		"an alert that is none": {request("Post", &net.OpError{Op: "remote error", Err: errBoom}), possible,
			possible},
		"an alert without a code": {request("Post", &net.OpError{Op: "remote error"}), possible, possible},
		"a panic":                 {&panics.Error{Value: NotCreated(errBoom)}, possible, possible},
		"what did not begin":      {NotCreated(&panics.Error{Value: errBoom}), none, none},
		"a stream of others":      {StreamError{}, unknown, unknown},

		"Kubernetes, invalid":        {kerrors.NewBadRequest("x"), none, none},
		"Kubernetes, not found":      {errors.Wrap(kerrors.NewNotFound(kube, "x"), "y"), none, none},
		"Kubernetes, a conflict":     {kerrors.NewConflict(kube, "x", errBoom), possible, possible},
		"Kubernetes, already exists": {kerrors.NewAlreadyExists(kube, "x"), possible, possible},
		"Kubernetes, busy":           {kerrors.NewTooManyRequests("x", 1), none, none},
		"Kubernetes, timed out":      {kerrors.NewTimeoutError("x", 1), possible, possible},
		"Kubernetes, without a code": {&kerrors.StatusError{ErrStatus: metav1.Status{}}, unknown, unknown},
		"Kubernetes, as nil":         {(*kerrors.StatusError)(nil), unknown, unknown},

		"a method":              {methodError{403}, none, none},
		"a method of HTTP":      {httpError{403}, none, none},
		"a method, and trouble": {methodError{502}, possible, possible},
		"a field":               {&statusError{404}, none, none},
		"a field, and trouble":  {&statusError{503}, possible, possible},
		"a field, as nil":       {(*statusError)(nil), unknown, unknown},
		"a pointer":             {pointerError{&busy}, none, none},
		"a pointer, as nil":     {pointerError{}, unknown, unknown},
		"a field Code":          {codeError{403}, none, unknown},
		"a field Code, trouble": {codeError{500}, possible, unknown},
		"a field Code, created": {codeError{201}, possible, unknown},
		"created, not readable": {wrapError{201, errBoom}, possible, possible},
		"created, and cut off":  {wrapError{200, io.ErrUnexpectedEOF}, possible, possible},
		"elsewhere, by a GET":   {httpError{303}, possible, possible},
		"an error within a 200": {wrapError{200, &statusError{400}}, possible, possible},
		"not created, by a 200": {NotCreated(&statusError{200}), none, none},
		"a Code that is none":   {codeError{10058}, unknown, unknown},
		"a negative Code":       {codeError{-32600}, unknown, unknown},
		"a Code of words":       {wordError{"403"}, unknown, unknown},
		"a response":            {&answerError{&http.Response{StatusCode: 422}}, none, none},
		"a response, trouble":   {&answerError{&http.Response{StatusCode: 500}}, possible, possible},
		"a response, as nil":    {&answerError{}, unknown, unknown},
		"embedded":              {embedError{&http.Response{StatusCode: 401}}, none, none},
		"embedded, as nil":      {embedError{}, unknown, unknown},
		"a refusal, wrapped":    {fmt.Errorf("cannot create: %w", &statusError{409 - 1 - 4}), none, none},

		"joined: all refused":       {stderrors.Join(&statusError{400}, NotCreated(errBoom)), none, none},
		"joined: one says neither":  {stderrors.Join(&statusError{400}, errBoom), unknown, unknown},
		"joined: one is possible":   {stderrors.Join(&statusError{400}, errBoom, io.EOF), possible, possible},
		"joined: nothing":           {fmt.Errorf("%w %w", nil, nil), unknown, unknown},
		"a refusal of what was cut": {wrapError{400, io.EOF}, possible, possible},
		"trouble over a refusal":    {wrapError{500, &statusError{400}}, possible, possible},
		"a refusal over no word":    {wrapError{400, errBoom}, none, none},
		"trouble over no word":      {wrapError{500, nil}, possible, possible},
		"an error that wraps itself": {
			selfError{}, possible, possible,
		},
		"methods that panic": {bombError{"boom"}, unknown, unknown},
		"no status of gRPC":  {strangeGRPC{}, unknown, unknown},
	}
	for code := 0; code < 700; code++ {
		want := unknown
		switch {
		case code >= 200 && code < 400, code == 408 || code == 409 || code == 425 || code == 499,
			code >= 500 && code < 600:
			want = possible
		case code >= 400 && code < 500:
			want = none
		}
		cases[fmt.Sprintf("a status of %d", code)] = struct {
			err         error
			want, exact Effect
		}{&statusError{code}, want, want}
	}
	for code, want := range []Effect{
		unknown, possible, possible, none, possible, none, possible, none, none, none, possible, none, none, possible,
		possible, possible, none, possible,
	} {
		cases[fmt.Sprintf("gRPC %d", code)] = struct {
			err         error
			want, exact Effect
		}{grpc(grpcCode(code)), want, want}
	}
	cases["gRPC, too large"] = struct {
		err         error
		want, exact Effect
	}{grpc(8, "grpc: received message larger than max (5 vs. 4)"), possible, possible}
	for name, tc := range cases {
		if got := EffectOf(tc.err); got != tc.want {
			t.Errorf("%s: EffectOf(%T) is %d, want %d", name, tc.err, got, tc.want)
		}
		if got := IsRefused(tc.err); got != (tc.exact == none) {
			t.Errorf("%s: IsRefused(%T) is %t", name, tc.err, got)
		}
	}
}

// TestEffectOfHTTP2 knows a stream that the server has reset, and a connection that it leaves.
func TestEffectOfHTTP2(t *testing.T) {
	for name, want := range map[string]Effect{
		"StreamError": EffectPossible, "http2StreamError": EffectPossible,
		"GoAwayError": EffectPossible, "Error": EffectUnknown,
	} {
		if got := ofHTTP2Type("golang.org/x/net/http2", name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestMaybeCreated(t *testing.T) {
	if MaybeCreated(nil) != nil {
		t.Error("nil does not stay nil")
	}
	err := MaybeCreated(errBoom)
	if !IsMaybeCreated(errors.Wrap(err, "x")) || IsMaybeCreated(errBoom) || IsMaybeCreated(nil) ||
		!errors.Is(err, errBoom) || err.Error() != "boom" {
		t.Errorf("it is %v", err)
	}
}

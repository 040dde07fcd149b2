package external

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
)

// evidences return the effect of a single error, without those that it wraps. A method of the
// error may panic: its effect is then unknown.
var evidences = []func(error) Effect{
	ofMethods, ofGRPC, ofCut, ofHTTP2, ofLost, ofUnmade,
	func(err error) Effect { return ofStatus(field(err, "StatusCode")) },
	func(err error) Effect { return ofStatus(responded(err)) },
}

// ofStatus returns the effect of a status of an HTTP response.
func ofStatus(code int) Effect {
	const closedByClient = 499 // as many proxies return it

	switch code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, closedByClient:
		return EffectPossible // the request, or an earlier one, may have been served
	}
	switch code / 100 {
	case 4:
		return EffectNone
	case 2, 3, 5: // of the 200s and 300s the request was served, and the error is about the response
		return EffectPossible
	default:
		return EffectUnknown
	}
}

func ofMethods(err error) Effect {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is read by itself
	case kerrors.APIStatus:
		return ofStatus(int(e.Status().Code))
	case interface{ StatusCode() int }:
		return ofStatus(e.StatusCode())
	case interface{ HTTPStatusCode() int }:
		return ofStatus(e.HTTPStatusCode())
	default:
		return EffectUnknown
	}
}

// Codes of gRPC, so that this module does not depend on its package.
const (
	grpcOK                = 0
	grpcInvalidArgument   = 3
	grpcNotFound          = 5
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcFailed            = 9
	grpcOutOfRange        = 11
	grpcUnimplemented     = 12
	grpcUnauthenticated   = 16
)

// ofGRPC returns the effect of the status that a method GRPCStatus returns.
func ofGRPC(err error) Effect {
	method := reflect.ValueOf(err).MethodByName("GRPCStatus")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return EffectUnknown
	}
	status := method.Call(nil)[0]
	code := status.MethodByName("Code").Call(nil)[0].Uint()
	switch code {
	case grpcOK:
		return EffectUnknown
	case grpcInvalidArgument, grpcNotFound, grpcPermissionDenied, grpcUnauthenticated, grpcFailed, grpcOutOfRange,
		grpcUnimplemented:
		return EffectNone
	case grpcResourceExhausted: // also the code of a client that rejects a large answer
		if text := status.MethodByName("Message").Call(nil)[0].String(); !strings.Contains(text, "larger than max") {
			return EffectNone
		}
	}

	return EffectPossible
}

// cuts are the errors of an interrupted call.
var cuts = []error{
	context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET,
	syscall.EPIPE,
}

func ofCut(err error) Effect {
	is, asks := err.(interface{ Is(error) bool })
	for _, cut := range cuts {
		if err == cut || asks && is.Is(cut) { //nolint:errorlint // each error of the tree is read by itself
			return EffectPossible
		}
	}

	return EffectUnknown
}

func timedOut(err error) bool {
	timeout, ok := err.(interface{ Timeout() bool })

	return ok && timeout.Timeout()
}

// ofHTTP2 finds the errors of a connection or a stream by their type names: those of net/http
// are not exported, and are no sentinels.
func ofHTTP2(err error) Effect {
	of := reflect.TypeOf(err)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}

	return ofHTTP2Type(of.PkgPath(), of.Name())
}

func ofHTTP2Type(path, name string) Effect {
	if path != "net/http" && !strings.HasSuffix(path, "/http2") {
		return EffectUnknown
	}
	switch strings.TrimPrefix(name, "http2") {
	case "StreamError", "GoAwayError", "ConnectionError":
		return EffectPossible
	default:
		return EffectUnknown
	}
}

// responded returns the status of the response that an error has in its field Response.
func responded(err error) int {
	value, ok := structure(err)
	if !ok {
		return 0
	}
	member := value.FieldByName("Response")
	if !member.IsValid() || member.Type() != reflect.TypeFor[*http.Response]() || member.IsNil() {
		return 0
	}

	return int(member.Elem().FieldByName("StatusCode").Int())
}

// field returns the integer of an exported field, or that it points to.
func field(err error, name string) int {
	value, ok := structure(err)
	if !ok {
		return 0
	}
	member := reflect.Indirect(value.FieldByName(name))
	switch {
	case !member.IsValid():
		return 0
	case member.CanInt():
		return int(member.Int())
	case member.CanUint():
		return int(min(member.Uint(), 1000)) // which is no status
	default:
		return 0
	}
}

// structure returns the struct that an error is, or points to.
func structure(err error) (reflect.Value, bool) {
	value := reflect.Indirect(reflect.ValueOf(err))

	return value, value.Kind() == reflect.Struct
}

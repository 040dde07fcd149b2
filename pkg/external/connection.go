package external

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"reflect"
	"slices"
	"syscall"
)

// unmade are the operations of a *net.OpError that fail before a request is sent. They belong to package net, to the
// connection of net/http to a proxy, and to a SOCKS proxy.
var unmade = []string{"dial", "proxyconnect", "socks connect"}

// ofConnection returns the effect of an error of a connection with all that it wraps.
func ofConnection(err *net.OpError) Effect {
	if err != nil && (slices.Contains(unmade, err.Op) || err.Op == "remote error" && answersHello(err.Err)) {
		return EffectNone
	}

	return EffectPossible
}

// hellos are the TLS alerts by which a server answers the first message of a handshake, so that no request was sent
// yet: handshake_failure, protocol_version, insufficient_security, inappropriate_fallback, missing_extension,
// unrecognized_name, no_application_protocol. Alerts about the certificate of a client are not among them, because in
// TLS 1.3 they arrive after the request.
var hellos = []uint64{40, 70, 71, 86, 109, 112, 120}

// answersHello reports whether an error is such an alert. The type that a connection returns
// is not exported.
func answersHello(err error) bool {
	value := reflect.ValueOf(err)

	return value.Kind() == reflect.Uint8 && value.Type().PkgPath() == "crypto/tls" &&
		slices.Contains(hellos, value.Uint())
}

// ofUnmade returns EffectNone for an error that is not a *net.OpError if there was no connection or no TLS handshake.
func ofUnmade(err error) Effect {
	none := false
	switch e := err.(type) { //nolint:errorlint // each error of the tree is read by itself
	case *tls.CertificateVerificationError:
		none = e != nil
	case x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError, x509.SystemRootsError:
		none = true
	case tls.RecordHeaderError:
		none = e.Conn != nil // the first record is none of TLS
	case syscall.Errno:
		none = e == syscall.ECONNREFUSED
	default:
		of := reflect.TypeOf(err)
		none = err == http.ErrSchemeMismatch || //nolint:errorlint // each error of the tree is read by itself
			of.PkgPath() == "net/http" && of.Name() == "tlsHandshakeTimeoutError"
	}
	if none {
		return EffectNone
	}

	return EffectUnknown
}

package natsconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Codes of JetStream about the system as a whole, for which the client of NATS has no names. They are those
// of errors.json in nats-server 2.15.
const (
	codeNotAvailable jetstream.ErrorCode = 10008
	codeNoAccount    jetstream.ErrorCode = 10035
)

func isUnauthorized(err error) bool {
	for _, refusal := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}

	return false
}

// isTLS reports whether the two ends could not agree on TLS, or on a trusted certificate.
func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		unknown      x509.UnknownAuthorityError
		hostname     x509.HostnameError
		header       tls.RecordHeaderError
		alert        *net.OpError
	)

	// The refusal of the other end has no exported type: it is a network error of this operation. If the other
	// end closes the connection before that is read, the client of NATS has an error of its own.
	if errors.Is(err, nats.ErrTLS) || errors.As(err, &alert) && alert.Op == "remote error" {
		return true
	}

	return errors.As(err, &verification) || errors.As(err, &unknown) || errors.As(err, &hostname) ||
		errors.As(err, &header)
}

// explainDial says what to correct when no connection was established, which is never caused by one object.
// No word for a secret precedes a colon: the text after it would be taken for one, and be redacted.
func explainDial(err error, servers []string) error {
	switch {
	case isUnauthorized(err):
		return external.Unauthorized(errors.Wrap(err,
			"NATS refuses the credentials it was given: correct spec.credentials of the ProviderConfig, or the Secret it names"))
	case errors.Is(err, nats.ErrSecureConnWanted):
		return external.Unavailable(errors.Wrap(err,
			"NATS offers no TLS: remove spec.tls from the ProviderConfig, or switch TLS on in NATS"))
	case isTLS(err):
		return external.Unavailable(errors.Wrap(err,
			"cannot agree with NATS on TLS: correct spec.tls of the ProviderConfig, or the Secrets it names"))
	}

	err = errors.Wrapf(err, "cannot reach NATS at %s: correct spec.servers of the ProviderConfig, or the network",
		strings.Join(servers, ", "))
	if errors.Is(err, context.Canceled) { // the attempt was too short to prove anything
		return err
	}

	return external.Unavailable(err)
}

// explainDisconnected says why there is no connection at the moment, given the last error of the
// connection. That may be the denial of an earlier request, which does not end a connection.
func explainDisconnected(last error, servers []string) error {
	if last == nil || errors.Is(last, nats.ErrPermissionViolation) {
		last = nats.ErrDisconnected
	}

	return errors.Wrap(explainDial(last, servers), "the connection is lost, and is retried every second")
}

// explain says what to correct when a request failed, given why its context ended, and marks failures of
// the connection as a whole. An answer of NATS about one stream is left as it is, for the caller to
// classify; so is a missing permission, because the user may have others.
func explain(operation string, err, cause error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, nats.ErrPermissionViolation):
		return errors.Wrapf(cause, "the user that the ProviderConfig logs in as may not do %s: permit it in NATS", operation)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return external.Unavailable(errors.Wrap(err,
			"there is no JetStream for the user that the ProviderConfig logs in as: "+
				"enable it in NATS for the server and the account, or correct spec.domain and spec.jsPrefix"))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		err = external.Unavailable(errors.Wrap(err, "NATS did not answer in time: see whether its servers have a leader"))

		return errors.Wrapf(err, "cannot do %s", operation)
	default:
		return explainAnswer(err)
	}
}

// explainAnswer marks answers of JetStream about the system as a whole.
func explainAnswer(err error) error {
	var answer jetstream.JetStreamError
	if !errors.As(err, &answer) || answer.APIError() == nil {
		return err
	}

	switch api := answer.APIError(); {
	case api.Code == http.StatusTooManyRequests:
		return external.Throttled("", 0, errors.Wrap(err, "NATS receives more requests than it serves"))
	case api.ErrorCode == codeNotAvailable:
		return external.Unavailable(errors.Wrap(err,
			"JetStream does not work at the moment: see whether its servers have a leader"))
	case api.ErrorCode == codeNoAccount:
		return external.Unavailable(errors.Wrap(err, "NATS does not know the account that the ProviderConfig logs in to"))
	default:
		return err
	}
}

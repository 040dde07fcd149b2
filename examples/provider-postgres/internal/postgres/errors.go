package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Codes of errors of PostgreSQL, see its appendix "PostgreSQL Error Codes".
const (
	codeUnsupported      = "0A000"
	codeInvalidSpec      = "28000"
	codeWrongPassword    = "28P01"
	codeDependents       = "2BP01"
	codeUniqueViolation  = "23505"
	codeInvalidParameter = "22023"
	codeNoDatabase       = "3D000"
	codeNoSchema         = "3F000"
	codeNoPrivilege      = "42501"
	codeNoObject         = "42704"
	codeDuplicateObject  = "42710"
	codeDuplicateDB      = "42P04"
	codeDuplicateSchema  = "42P06"
	codeReservedName     = "42939"
	codeTooMany          = "53300"
	codeInUse            = "55006"
	classConnection      = "08"
	classOperator        = "57"
)

// Reasons of conditions.
const (
	reasonUnsupported  = "NotSupported"
	reasonPrivilege    = "PrivilegeMissing"
	reasonInvalidValue = "InvalidValue"
	reasonInvalidName  = "InvalidName"

	// ReasonImmutable is the reason of a difference that PostgreSQL cannot remove.
	ReasonImmutable = "ImmutableField"
)

// explain translates an error of the driver into one of package external. While the server cannot be reached, the text
// is always the same: the network has many, and each change of the text would be another event.
func (c *Client) explain(err error) error {
	var (
		refused *pgconn.PgError
		version *unsupported
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return c.answered(err, refused)
	case errors.As(err, &version):
		return external.Unavailable(version)
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return external.Unavailable(errors.Errorf("the server at %s is read-only: it is a standby, or has "+
			"default_transaction_read_only: correct spec.host of the configuration, or the server", c.config.Address()))
	case errors.Is(err, context.Canceled):
		return errors.Wrap(context.Canceled, "the call to the server was cancelled")
	default:
		return external.Unavailable(errors.New(c.unreachable(err)))
	}
}

// closed translates an error of connecting to another database than that of the configuration. What the server
// answers is about that database: the configuration works. Only an end of the server itself is an outage.
func (c *Client) closed(database string, err error) error {
	refused := (*pgconn.PgError)(nil)
	switch {
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return errors.Errorf("the database %q is read-only: reset its default_transaction_read_only", database)
	case !errors.As(err, &refused), isOutage(refused):
		return c.explain(err)
	case refused.Code == codeNoDatabase: // it was dropped meanwhile
		return external.NotFound(errors.Errorf("there is no database %q: create it first", database))
	default:
		return errors.Errorf("the user %q of the configuration cannot connect to the database %q: the server answered: %s "+
			"(SQLSTATE %s)", c.config.User, database, refused.Message, refused.Code)
	}
}

// isOutage reports whether the server says that it ends, or does not accept connections yet.
func isOutage(refused *pgconn.PgError) bool {
	return strings.HasPrefix(refused.Code, classConnection) ||
		strings.HasPrefix(refused.Code, classOperator) && !undone(refused)
}

// unreachable says why there is no connection, as far as a user has to correct something.
func (c *Client) unreachable(err error) string {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return fmt.Sprintf("the certificate of the server at %s is not accepted, because %s", c.config.Address(),
			untrustedBecause(untrusted.Err))
	case strings.Contains(err.Error(), "server refused TLS connection"): // the driver has no type for it
		return fmt.Sprintf("the server at %s does not offer TLS: switch it on there, or set spec.tls.mode to disable",
			c.config.Address())
	default:
		return fmt.Sprintf("the server at %s cannot be reached: check that it runs, and spec.host and spec.port of the "+
			"configuration", c.config.Address())
	}
}

// untrustedBecause says what is wrong with a certificate. The texts of package x509 have the time in them.
func untrustedBecause(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "its authority is not trusted: set spec.tls.caBundle of the configuration"
	case errors.As(err, &host):
		return "it is for another host: correct spec.host of the configuration, or the certificate"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or is not valid yet: renew it"
	default:
		return "it is not valid: replace it"
	}
}

// answered translates an error that the server has sent.
func (c *Client) answered(err error, refused *pgconn.PgError) error {
	var connecting *pgconn.ConnectError
	text := errors.Errorf("the server answered: %s (SQLSTATE %s)", refused.Message, refused.Code)
	out := &answer{error: text, of: refused}
	switch code := refused.Code; {
	case code == codeWrongPassword:
		return external.Unauthorized(errors.Errorf("the server at %s does not accept the user name and the password of "+
			"the configuration (SQLSTATE %s)", c.config.Address(), code))
	case code == codeInvalidSpec: // pg_hba.conf has no entry, or the role cannot log in
		return external.Unauthorized(errors.Errorf("the server at %s does not accept the user of the configuration: %s "+
			"(SQLSTATE %s)", c.config.Address(), refused.Message, code))
	case code == codeTooMany:
		return external.Throttled("", 0, errors.Errorf("the server at %s has no connection left (SQLSTATE %s): raise "+
			"max_connections, or the connection limit of the role", c.config.Address(), code))
	case isOutage(refused):
		return external.Unavailable(errors.New(c.unreachable(err)))
	case errors.As(err, &connecting): // the configuration is wrong, and not the object
		return external.Unavailable(errors.Wrap(text, "the configuration cannot be used"))
	case code == codeUnsupported:
		return external.Terminal(reasonUnsupported, out)
	case code == codeInvalidParameter, code == codeReservedName:
		return external.Terminal(reasonInvalidValue, out)
	case code == codeNoPrivilege:
		return external.Terminal(reasonPrivilege, out)
	case code == codeDependents && refused.Detail != "":
		return &answer{error: errors.Wrap(errors.New(refused.Detail), text.Error()), of: refused}
	default:
		return out
	}
}

// undone reports whether an error has the severity ERROR: the session goes on, and its transaction is undone. Servers
// translate the field Severity by lc_messages. A pooler may send no other.
func undone(refused *pgconn.PgError) bool {
	return cmp.Or(refused.SeverityUnlocalized, refused.Severity) == "ERROR"
}

// An answer is an error that the server has sent.
type answer struct {
	error
	of *pgconn.PgError
}

// Unwrap returns the error without the answer of the driver, whose text has another form.
func (a *answer) Unwrap() error { return a.error }

// code returns the SQLSTATE with which the server refused a statement, or "" if it did not answer.
func code(err error) string {
	if a := (*answer)(nil); errors.As(err, &a) {
		return a.of.Code
	}

	return ""
}

// notCreated marks the error of the only statement of a Create, if the server has refused it: then its transaction was
// undone. An error without an answer of the server never shows that: the driver returns "conn closed" for a statement
// whose answer was lost, too, and calls it safe to retry.
func notCreated(err error) error {
	a := (*answer)(nil)
	if !errors.As(err, &a) || !undone(a.of) || strings.HasPrefix(a.of.Code, classOperator) {
		return err
	}
	switch a.of.Code {
	case codeDuplicateDB, codeDuplicateObject, codeDuplicateSchema, codeUniqueViolation:
		return external.AlreadyExists(err)
	default:
		return external.NotCreated(err)
	}
}

// lacks adds to an error what the user of the configuration needs, if it lacks a privilege.
func (s *Session) lacks(err error, privilege string) error {
	if code(err) != codeNoPrivilege {
		return err
	}

	return errors.Wrapf(err, "the user %q of the configuration needs %s", s.client.config.User, privilege)
}

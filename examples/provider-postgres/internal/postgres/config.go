package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// oldest is the oldest major version of PostgreSQL that the statements of this package work with.
	oldest = 13

	connectTimeout = 10 * time.Second

	// answerTimeout bounds a read, and the time to connect. A server that accepts connections and never answers is then
	// reported as unavailable long before the timeout of the pass. A change has no such limit: a CREATE DATABASE copies a
	// template, which may take longer.
	answerTimeout = 10 * time.Second

	// maxConnections is how many connections are in use at a time. The pool permits more: a connection is also in the
	// pool while it is opened or closed for a caller that is gone.
	maxConnections = 10
)

// A Config has the address and the credentials of a server. Host, Port, Database, User and Password are required.
type Config struct {
	Host     string
	Port     uint16
	Database string // the one to connect to; other databases are managed from there

	User, Password string

	// Plaintext switches TLS off. Otherwise the certificate of the server is always verified.
	Plaintext bool

	// CA are the PEM-encoded certificates that are trusted. Empty means those of the system.
	CA string

	// Revision identifies the settings for the caller.
	Revision string

	// AllowedHosts are the hosts that may be connected to, each with or without its port. Empty means all.
	AllowedHosts []string
}

// Address returns the host and the port.
func (c Config) Address() string { return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) }

// allowed reports whether the host may be connected to.
func (c Config) allowed() bool {
	return len(c.AllowedHosts) == 0 || slices.ContainsFunc(c.AllowedHosts, func(host string) bool {
		return strings.EqualFold(host, c.Host) || strings.EqualFold(host, c.Address())
	})
}

// encryption returns the settings of TLS, or nil if it is switched off.
func (c Config) encryption() (*tls.Config, error) {
	if c.Plaintext {
		return nil, nil
	}
	out := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	if c.CA == "" {
		return out, nil
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
		return nil, errors.New("spec.tls.caBundle has no certificate: it must have PEM blocks of the type CERTIFICATE")
	}

	return out, nil
}

// pool returns the settings of the driver. Nothing is taken from the environment of the process, such as PGOPTIONS.
func (c Config) pool() (*pgxpool.Config, error) {
	encryption, err := c.encryption()
	if err != nil {
		return nil, err
	}
	if !c.allowed() {
		return nil, errors.Errorf("the provider is not allowed to connect to %s: name another host, or ask the operator "+
			"to add this one to --allow-hosts", c.Address())
	}
	out, err := pgxpool.ParseConfig("host=localhost sslmode=disable target_session_attrs=any")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the settings of the driver")
	}
	to := out.ConnConfig
	to.Host, to.Port, to.Database, to.User, to.Password = c.Host, c.Port, c.Database, c.User, c.Password
	to.TLSConfig, to.Fallbacks, to.ConnectTimeout = encryption, nil, connectTimeout
	to.ValidateConnect = writable
	to.DefaultQueryExecMode = pgx.QueryExecModeExec // works through a pooler, too
	to.RuntimeParams = map[string]string{
		"application_name": "provider-postgres",
		"client_encoding":  "UTF8", // that of the statements, whatever encoding a database has
		// A user of a database can create functions that have the names of built-in ones.
		"search_path":                 "pg_catalog",
		"standard_conforming_strings": "on",
		// Each statement sees what was committed before it: see Databases.
		"default_transaction_isolation": "read committed",
		"lock_timeout":                  strconv.FormatInt(connectTimeout.Milliseconds(), 10),
	}
	out.MaxConns = 2 * maxConnections

	return out, nil
}

// writable returns an error if a new connection cannot change anything, as that to a standby. A standby may lag behind:
// what it does not have may exist. It first checks the version, so that no other product gets a statement.
func writable(ctx context.Context, conn *pgconn.PgConn) error {
	if err := supported(conn.ParameterStatus("server_version")); err != nil {
		return err
	}

	return pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn)
}

// supported returns an error if the provider does not support the version that a server reports.
func supported(version string) error {
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(version)
	}
	if n, err := strconv.Atoi(version[:end]); err != nil {
		return &unsupported{fmt.Sprintf("the server reports the version %.20q, which is not that of a PostgreSQL server",
			version)}
	} else if n < oldest {
		return &unsupported{fmt.Sprintf("the server has PostgreSQL %.20s, and the provider needs %d or newer: upgrade the "+
			"server", version, oldest)}
	}

	return nil
}

// unsupported is the error of a server whose version is not supported.
type unsupported struct{ text string }

// Error returns the version, and what to do.
func (u *unsupported) Error() string { return u.text }

// Package postgres has the statements that the provider sends to a PostgreSQL server. It does not depend on
// Kubernetes. Start with [Open].
//
// All errors are translated to those of package external, see errors.go. A statement that changes something is
// either a single one, or an implicit transaction of several that are sent together: so its effect is all or
// nothing, also if its answer is lost. The one exception is CREATE DATABASE, see database.go.
package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A Client has the connections to one server, with one user. It may be used concurrently. Use Open.
type Client struct {
	config Config
	pool   *pgxpool.Pool
	places chan struct{} // has an element for each connection in use
}

// Open returns a client. It does not connect yet: an error is about the settings.
func Open(c Config) (*Client, error) {
	settings, err := c.pool()
	if err != nil {
		return nil, err
	}
	settings.AfterConnect = inspect
	pool, err := pgxpool.NewWithConfig(context.Background(), settings)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the connections")
	}

	return &Client{config: c, pool: pool, places: make(chan struct{}, maxConnections)}, nil
}

// Close closes all connections, and waits for those in use.
func (c *Client) Close() { c.pool.Close() }

// Config returns the settings.
func (c *Client) Config() Config { return c.config }

// acquire returns a connection, and a function that releases it. It waits until one is free as long as the context
// lasts: that all are in use says nothing about the server. Only the time to connect has a limit of its own.
func (c *Client) acquire(ctx context.Context) (*pgx.Conn, func(), error) {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, busy(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := c.pool.Acquire(limited)
	if err != nil {
		<-c.places

		return nil, nil, c.explain(err)
	}

	return conn.Conn(), func() {
		conn.Release()
		<-c.places
	}, nil
}

// busy returns the error of a call that ended while all connections were in use. It is no outage, and nothing was sent.
func busy(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return external.NotCreated(errors.Wrap(context.Canceled, "the call to the server was cancelled"))
	}

	return external.RetryAfter(busyRetry, external.NotCreated(errors.Errorf("all %d connections of the configuration "+
		"are in use: other objects wait for the server, such as for a CREATE DATABASE", maxConnections)))
}

// busyRetry is when a call is repeated that found all connections in use.
const busyRetry = 5 * time.Second

// identity is the key of what inspect finds in the data of a connection.
const identity = "identity"

// inspect records the identity of a server, which its data directory has from initdb on.
func inspect(ctx context.Context, conn *pgx.Conn) error {
	var id string
	if err := conn.QueryRow(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id); err != nil {
		if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || refused.Code != codeNoPrivilege {
			return err
		}
		id = "" // the operator of the server has revoked it, so its identity is unknown
	}
	conn.PgConn().CustomData()[identity] = id

	return nil
}

// A Session is the use of a server by one pass. It must not be used concurrently. It holds no connection between two
// calls: the pool is shared with passes that may wait for Kubernetes meanwhile.
type Session struct {
	client    *Client
	identity  string
	superuser bool
}

// Session returns a session, whose calls all go to the server that answers now.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	conn, release, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()

	return &Session{
		client: c, identity: identityOf(conn), superuser: conn.PgConn().ParameterStatus("is_superuser") == "on",
	}, nil
}

func identityOf(conn *pgx.Conn) string {
	id, _ := conn.PgConn().CustomData()[identity].(string)

	return id
}

// Identity returns the identity of the server, or "" if it is not known.
func (s *Session) Identity() string { return s.identity }

// Address returns the host and the port of the server.
func (s *Session) Address() (host string, port uint16) {
	return s.client.config.Host, s.client.config.Port
}

// main is the database of the configuration.
const main = ""

// use calls a function with a connection to a database. Its error is external.NotFound if there is no such database. A
// connection to another database than that of the configuration ends with the call: as long as there is one, the
// database can neither be dropped nor renamed.
func (s *Session) use(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	if database != main {
		return s.useOther(ctx, database, do)
	}
	conn, release, err := s.client.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if identityOf(conn) != s.identity {
		return external.Unavailable(errors.Errorf("another server answers at %s than a moment ago",
			s.client.config.Address()))
	}

	return s.client.explain(do(conn))
}

func (s *Session) useOther(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	// Asked first: a connection that is refused could be about the configuration.
	exists, err := s.row(ctx, main, "SELECT 1 FROM pg_database WHERE datname::text = $1", []any{possible(database)},
		new(int))
	switch {
	case err != nil:
		return err
	case !exists:
		return external.NotFound(errors.Errorf("there is no database %q: create it first", database))
	}
	settings := s.client.pool.Config().ConnConfig
	settings.Database = database
	conn, err := pgx.ConnectConfig(ctx, settings)
	if err != nil {
		return s.client.closed(database, err)
	}
	defer func() { _ = conn.Close(ctx) }()

	return s.client.explain(do(conn))
}

// row reads one row. It returns whether there is one.
func (s *Session) row(ctx context.Context, database, sql string, args []any, into ...any) (bool, error) {
	found := true
	err := s.use(ctx, database, func(conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		err := conn.QueryRow(ctx, sql, args...).Scan(into...)
		if errors.Is(err, pgx.ErrNoRows) {
			found = false

			return nil
		}

		return err
	})

	return found && err == nil, err
}

// change sends statements together. If there are several, they are one transaction.
func (s *Session) change(ctx context.Context, database string, statements ...string) error {
	if len(statements) == 0 {
		return nil
	}

	return s.use(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()

		return err
	})
}

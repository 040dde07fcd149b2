package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// allInUse has other calls use all connections until the time of a call is over. That is no outage of the server, and
// may not be reported as one.
func allInUse(t *testing.T, s *pgserver.Server) {
	client, err := postgres.Open(pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	session, err := client.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // which ends the lock
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE pg_database IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	const connections = 10
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, connections)
	for i := range connections {
		name := fmt.Sprintf("queued-%d", i)
		go func() { ended <- session.CreateDatabase(ctx, name, postgres.Database{Name: name}) }()
	}
	wait.Until(t, "all connections are in use", func() bool {
		return has(t, s, fmt.Sprintf("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE \"moorage-queued%%' "+
			"AND wait_event_type = 'Lock' HAVING count(*) = %d", connections))
	})
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	_, connecting := client.Session(late)
	_, reading := session.Role(late, "any")
	for _, err := range []error{connecting, reading} {
		_, again := external.AsRetryAfter(err)
		if external.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) || !again || !external.IsNotCreated(err) {
			t.Errorf("got %v, want an error that is no outage, and says when to try again", err)
		} else if !strings.Contains(err.Error(), "all 10 connections of the configuration are in use") {
			t.Errorf("got %v", err)
		}
	}
	cancel()
	for range connections {
		if err := <-ended; err == nil {
			t.Error("a database was created, although the context of its creation has ended")
		}
	}
	if _, err := client.Session(t.Context()); err != nil {
		t.Errorf("when connections are free again: %v", err)
	}
}

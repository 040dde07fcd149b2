package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/moorage-dev/moorage/pkg/test/wait"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// A held database is one that cannot be dropped until release is called.
type held struct {
	server *pgserver.Server
	name   string
	found  postgres.Databases
	lock   pgx.Tx
}

// hold creates a role and a database that it owns, and locks the database.
func hold(t *testing.T, s *pgserver.Server, session *postgres.Session, name, owner string) held {
	t.Helper()
	if err := s.Exec(t.Context(), "CREATE DATABASE "+name+" OWNER "+owner); err != nil {
		t.Fatal(err)
	}
	found, err := session.Databases(t.Context(), name, "uid")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	lock, err := conn.Begin(t.Context())
	if err == nil {
		_, err = lock.Exec(t.Context(), "COMMENT ON DATABASE "+name+" IS 'locked'")
	}
	if err != nil {
		t.Fatal(err)
	}

	return held{s, name, found, lock}
}

// drop begins to drop the database, and returns when that waits for the lock.
func (h held) drop(ctx context.Context, t *testing.T, session *postgres.Session) <-chan error {
	t.Helper()
	dropped := make(chan error, 1)
	go func() { dropped <- session.DropDatabase(ctx, h.found) }()
	wait.Until(t, "the drop of "+h.name+" waits", func() bool {
		return has(t, h.server, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query = "+
			`'DROP DATABASE IF EXISTS "`+h.name+`"'`)
	})

	return dropped
}

func (h held) release(t *testing.T) {
	t.Helper()
	if err := h.lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func member(t *testing.T, s *pgserver.Server, role string) bool {
	t.Helper()

	return has(t, s, "SELECT 1 FROM pg_auth_members WHERE roleid = '"+role+"'::regrole")
}

// dropInterrupted has a deadline end a drop: the server is as after a drop that was not interrupted.
func dropInterrupted(t *testing.T, s *pgserver.Server) {
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), "CREATE ROLE whole; CREATE ROLE part"); err != nil {
		t.Fatal(err)
	}
	whole, part := hold(t, s, session, "whole", "whole"), hold(t, s, session, "part", "part")
	whole.release(t)
	if err := session.DropDatabase(t.Context(), whole.found); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	dropped := part.drop(ctx, t, session)
	cancel()
	if err := <-dropped; err == nil {
		t.Error("the drop has succeeded, although its context has ended")
	}
	if whole, part := member(t, s, "whole"), member(t, s, "part"); whole != part {
		t.Errorf("the user is a member of the owner: %v; after an interruption: %v", whole, part)
	}
	part.release(t)
	if err := session.DropDatabase(t.Context(), part.found); err != nil {
		t.Error(err)
	}
}

// dropTwo drops two databases of one owner at once: the end of one does not take from the other what it needs.
func dropTwo(t *testing.T, s *pgserver.Server) {
	var sessions [2]*postgres.Session
	for i := range sessions {
		session, err := open(t, pgtest.Config(s, nil))
		if err != nil {
			t.Fatal(err)
		}
		sessions[i] = session
	}
	if err := s.Exec(t.Context(), "CREATE ROLE landlord"); err != nil {
		t.Fatal(err)
	}
	one, two := hold(t, s, sessions[0], "one", "landlord"), hold(t, s, sessions[1], "two", "landlord")
	first := one.drop(t.Context(), t, sessions[0])
	second := two.drop(t.Context(), t, sessions[1])
	one.release(t)
	if err := <-first; err != nil {
		t.Error(err)
	}
	two.release(t)
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// grantTwice makes two passes give a role its first databases at once: none fails, and none takes that for a name that
// is taken.
func grantTwice(t *testing.T, s *pgserver.Server) {
	if err := s.Exec(t.Context(), "CREATE ROLE tenant"); err != nil {
		t.Fatal(err)
	}
	const passes = 4
	created := make(chan error, passes)
	for i := range passes {
		session, err := open(t, pgtest.Config(s, nil))
		if err != nil {
			t.Fatal(err)
		}
		name := "tenant" + string(rune('0'+i))
		go func() {
			created <- session.CreateDatabase(t.Context(), name, postgres.Database{Name: name, Owner: "tenant"})
		}()
	}
	for range passes {
		if err := <-created; err != nil {
			t.Error(err)
		}
	}
}

package database_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/database"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

// A slow is a server on which a CREATE DATABASE runs until a lock is released.
type slow struct {
	server *pgserver.Server
	lock   pgx.Tx
}

// TestCreationStillRuns cuts the provider off while the server creates a database, and deletes the object: nothing is
// left behind.
func TestCreationStillRuns(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	s, link := slow{server: server}, pgtest.NewLinker(t, pgtest.Config(server, nil))
	mg := object("slow")
	mg.UID, mg.Spec.ForProvider = types.UID("uid-of-slow"), v1alpha1.DatabaseParameters{}
	meta.SetExternalName(mg, "slow")
	s.createAndCut(t, mg)

	client := connected(t, link, mg)
	seen, err := client.Observe(t.Context(), mg)
	if err != nil || !seen.ResourceExists || seen.Owner != managed.OwnerOurs || !seen.ResourceUpToDate {
		t.Fatalf("while it is being created: got %+v, %v", seen, err)
	}
	for _, change := range []func(context.Context, *v1alpha1.Database) error{client.Update, client.Delete} {
		err := change(t.Context(), mg)
		if after, ok := external.AsRetryAfter(err); !ok || after <= 0 {
			t.Errorf("a change meanwhile: got %v, want an error with a delay", err)
		}
	}
	if err := s.lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the database is created", func() bool {
		return s.count(t, "pg_database WHERE datname LIKE 'moorage-%'") > 0
	})

	client = connected(t, link, mg)
	if seen, err = client.Observe(t.Context(), mg); err != nil || !seen.ResourceExists || seen.ResourceUpToDate {
		t.Errorf("after that: got %+v, %v", seen, err)
	}
	if err := client.Delete(t.Context(), mg); err != nil {
		t.Error(err)
	}
	if n := s.count(t, "pg_database WHERE datname LIKE 'moorage-%' OR datname = 'slow'"); n > 0 {
		t.Errorf("%d databases are left behind", n)
	}
}

// begin takes the lock.
func (s *slow) begin(t *testing.T) {
	t.Helper()
	conn, err := s.server.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	if s.lock, err = conn.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.lock.Exec(t.Context(), "LOCK TABLE pg_database IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseOfAnother has another object own the database with the name.
func TestDatabaseOfAnother(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	of := v1alpha1.GroupVersion().WithKind(v1alpha1.DatabaseKind).GroupKind()
	other := string(managed.NewStamp("another-cluster", of, object("taken")))
	for _, statement := range []string{
		"CREATE DATABASE taken OWNER provider", "COMMENT ON DATABASE taken IS '" + other + "'",
	} {
		if err := server.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s := slow{server: server}
	t.Run("OneRequest", s.oneRequest)
	t.Run("StillCreating", s.stillCreating)
	var comment string
	err := server.In(t.Context(), "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT shobj_description(oid, 'pg_database') FROM pg_database "+
			"WHERE datname = 'taken'").Scan(&comment)
	})
	if err != nil || comment != other {
		t.Errorf("the database of another object has the comment %q, want %q: %v", comment, other, err)
	}
}

func taken() *v1alpha1.Database {
	mg := object("taken")
	mg.UID, mg.Spec.ForProvider = types.UID("uid-of-taken"), v1alpha1.DatabaseParameters{}
	meta.SetExternalName(mg, "taken")

	return mg
}

// oneRequest counts the requests of an Observe: the server says after each that it is ready.
func (s slow) oneRequest(t *testing.T) {
	var requests atomic.Int32
	c := pgtest.Config(s.server, nil)
	c.Plaintext, c.Port = true, pgtest.Rewrite(t, s.server, func(sent []byte) []byte {
		requests.Add(int32(bytes.Count(sent, []byte("Z\x00\x00\x00\x05"))))

		return sent
	})
	mg := taken()
	client := connected(t, pgtest.NewLinker(t, c), mg)
	requests.Store(0)
	seen, err := client.Observe(t.Context(), mg)
	if err != nil || seen.Owner != managed.OwnerOther {
		t.Fatalf("got %+v, %v", seen, err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("Observe has sent %d requests, want 1", n)
	}
}

// stillCreating has the server create the database of the object under its first name meanwhile.
func (s slow) stillCreating(t *testing.T) {
	s.begin(t)
	creating, err := s.server.Connect(t.Context(), pgserver.Provider, pgserver.Password, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := creating.PgConn().Exec(t.Context(), `CREATE DATABASE "moorage-uid-of-taken"`).ReadAll()
		ended <- err
	}()
	wait.Until(t, "the creation runs", func() bool {
		return s.count(t, "pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND wait_event_type = 'Lock'") > 0
	})
	mg := taken()
	client := connected(t, pgtest.NewLinker(t, pgtest.Config(s.server, nil)), mg)
	seen, err := client.Observe(t.Context(), mg)
	if err != nil || seen.Owner != managed.OwnerOurs || !seen.ResourceUpToDate {
		t.Errorf("got %+v, %v", seen, err)
	}
	for _, change := range []func(context.Context, *v1alpha1.Database) error{client.Update, client.Delete} {
		if err := change(t.Context(), mg); err == nil || !strings.Contains(err.Error(), "still creating") {
			t.Errorf("got %v", err)
		} else if _, ok := external.AsRetryAfter(err); !ok {
			t.Errorf("%v has no delay", err)
		}
	}
	if err := s.lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// createAndCut cuts the network for ever while the server creates the database, so that the driver cannot cancel that.
func (s *slow) createAndCut(t *testing.T, mg *v1alpha1.Database) {
	t.Helper()
	s.begin(t)
	proxy := conformance.FaultProxy(t, fmt.Sprintf("127.0.0.1:%d", s.server.Port))
	_, port, _ := net.SplitHostPort(proxy.Address())
	number, _ := strconv.ParseUint(port, 10, 16) // the proxy has one
	c := pgtest.Config(s.server, nil)
	c.Port = uint16(number)
	client, failed := connected(t, pgtest.NewLinker(t, c), mg), make(chan error)
	go func() { failed <- client.Create(t.Context(), mg) }()
	wait.Until(t, "the creation runs", func() bool {
		select {
		case err := <-failed:
			t.Fatalf("the creation has ended: %v", err)
		default:
		}

		return s.count(t, "pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND wait_event_type = 'Lock'") > 0
	})
	if _, err := proxy.Break(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || external.IsNotCreated(err) {
		t.Errorf("the result of the creation is not known, and its error is %v", err)
	}
}

func connected(
	t *testing.T, link pgtest.Linker, mg *v1alpha1.Database,
) managed.TypedExternalClient[*v1alpha1.Database] {
	t.Helper()
	out, err := database.NewConnector(link, "cluster").Connect(t.Context(), mg)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// count returns how many rows there are.
func (s *slow) count(t *testing.T, from string) (n int) {
	t.Helper()
	err := s.server.In(t.Context(), "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM "+from).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}

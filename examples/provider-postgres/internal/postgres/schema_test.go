package postgres_test

import (
	"testing"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// otherEncoding has a schema with a name that is not ASCII, in a database that is not in UTF-8.
func otherEncoding(t *testing.T, s *pgserver.Server) {
	if err := s.Exec(t.Context(), "CREATE DATABASE latin OWNER provider ENCODING LATIN1 TEMPLATE template0 "+
		"LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		t.Fatal(err)
	}
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := postgres.Schema{Name: "größe", Database: "latin", Comment: "of größe"}
	if err := session.CreateSchema(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	found, err := session.Schema(t.Context(), "latin", "größe")
	if err != nil || found == nil || found.Name != want.Name || found.Comment != want.Comment {
		t.Errorf("found %+v, %v", found, err)
	}
	var length int
	conn, err := s.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "latin")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "SELECT length(nspname::text) FROM pg_namespace WHERE nspname LIKE 'gr%'").
		Scan(&length); err != nil || length != 5 {
		t.Errorf("the name has %d characters for the server, want 5: %v", length, err)
	}
}

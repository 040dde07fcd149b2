package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/external"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// open returns a session with these settings.
func open(t *testing.T, c postgres.Config) (*postgres.Session, error) {
	t.Helper()
	client, err := postgres.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)

	return client.Session(t.Context())
}

// changes returns the statements of a user that the server has seen, without those that only read.
func changes(t *testing.T, s *pgserver.Server, user string) []string {
	t.Helper()
	text, err := s.Log()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(text) {
		statement, ok := strings.CutPrefix(line, user+": LOG:  statement: ")
		if ok && !strings.HasPrefix(statement, "show ") {
			out = append(out, strings.TrimSpace(statement))
		}
	}

	return out
}

// TestServer runs what needs a server, on one.
func TestServer(t *testing.T) {
	s, ok := pgtest.Start(t)
	if !ok {
		return
	}
	for name, run := range map[string]func(*testing.T, *pgserver.Server){
		"Connections": connections, "OldServer": oldServer, "OneText": oneText, "Rights": rights, "Names": names,
		"InUse": inUse, "NameTaken": nameTaken, "AllInUse": allInUse,
		"DropInterrupted": dropInterrupted, "DropTwo": dropTwo, "GrantTwice": grantTwice,
		"OtherEncoding": otherEncoding, "OtherRefuses": otherRefuses, "ReadOnly": readOnly,
	} {
		t.Run(name, func(t *testing.T) { run(t, s) })
	}
}

// connections has a row for each wrong configuration: none changes anything.
func connections(t *testing.T, s *pgserver.Server) {
	good := pgtest.Config(s, nil)
	before := len(changes(t, s, good.User))
	if err := s.Exec(t.Context(), "CREATE ROLE few LOGIN CONNECTION LIMIT 0 PASSWORD 'few'; "+
		"CREATE ROLE barred PASSWORD 'barred-one'"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*postgres.Config)
		is     func(error) bool
		text   string
	}{
		"Password": {func(c *postgres.Config) { c.Password = "wrong-one" }, external.IsUnauthorized, "does not accept"},
		"User":     {func(c *postgres.Config) { c.User = "nobody" }, external.IsUnauthorized, "does not accept"},
		"NoLogin": {func(c *postgres.Config) { c.User, c.Password = "barred", "barred-one" }, external.IsUnauthorized,
			`role "barred" is not permitted to log in`},
		"Host":      {func(c *postgres.Config) { c.Host = "db.invalid" }, external.IsUnavailable, "check that it runs"},
		"Port":      {func(c *postgres.Config) { c.Port = 1 }, external.IsUnavailable, "spec.port"},
		"Database":  {func(c *postgres.Config) { c.Database = "none" }, external.IsUnavailable, `"none" does not exist`},
		"Authority": {func(c *postgres.Config) { c.CA = "" }, external.IsUnavailable, "set spec.tls.caBundle"},
		"OtherHost": {func(c *postgres.Config) { c.Host = "127.0.0.1" }, external.IsUnavailable, "for another host"},
		"Limit": {func(c *postgres.Config) { c.User, c.Password = "few", "few" }, func(err error) bool {
			_, _, ok := external.AsThrottled(err)

			return ok
		}, "connection limit"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := good
			c.change(&wrong)
			_, err := open(t, wrong)
			if !c.is(err) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want an error with %q", err, c.text)
			}
			if err != nil && strings.Contains(err.Error(), wrong.Password) {
				t.Errorf("%v has the password", err)
			}
		})
	}
	if got := changes(t, s, good.User); len(got) > before {
		t.Errorf("the server was changed: %q", got[before:])
	}
}

// readOnly has a server that lets nothing be changed, as a standby: it is not asked what exists.
func readOnly(t *testing.T, s *pgserver.Server) {
	for _, statement := range []string{
		"CREATE ROLE reading LOGIN PASSWORD 'reading-one'",
		"ALTER ROLE reading SET default_transaction_read_only = on",
		"CREATE DATABASE frozen", "ALTER DATABASE frozen SET default_transaction_read_only = on",
	} {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	c := pgtest.Config(s, nil)
	session, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Schema(t.Context(), "frozen", "any")
	if err == nil || external.IsUnavailable(err) || !strings.Contains(err.Error(), `"frozen" is read-only`) {
		t.Errorf("a database: got %v", err)
	}
	c.User, c.Password = "reading", "reading-one"
	_, err = open(t, c)
	if !external.IsUnavailable(err) || !strings.Contains(err.Error(), "is read-only: it is a standby") {
		t.Errorf("got %v, want one that says that the server is read-only", err)
	}
}

// otherRefuses has databases that refuse connections of the user: each is a problem of the objects in it alone.
func otherRefuses(t *testing.T, s *pgserver.Server) {
	for _, statement := range []string{
		"CREATE DATABASE denied", "REVOKE CONNECT ON DATABASE denied FROM PUBLIC",
		"CREATE DATABASE closed ALLOW_CONNECTIONS false",
		`CREATE DATABASE "full" CONNECTION LIMIT 0`,
		"CREATE DATABASE rejected",
	} {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	reject(t, s, "rejected")
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	for database, code := range map[string]string{
		"denied": "42501", "closed": "55000", "full": "53300", "rejected": "28000",
	} {
		_, reading := session.Schema(t.Context(), database, "any")
		changing := session.CreateSchema(t.Context(), postgres.Schema{Name: "any", Database: database})
		for _, err := range []error{reading, changing} {
			text := fmt.Sprintf("the user %q of the configuration cannot connect to the database %q: ",
				pgserver.Provider, database)
			if err == nil || !strings.HasPrefix(err.Error(), text) || !strings.Contains(err.Error(), code) {
				t.Errorf("got %v, want an error that begins with %q", err, text)
			}
			_, _, throttled := external.AsThrottled(err)
			if throttled || external.IsUnauthorized(err) || external.IsUnavailable(err) || external.IsNotFound(err) {
				t.Errorf("%s: the error is one of the whole configuration, or hides the database: %v", database, err)
			}
		}
	}
	if _, err := session.Schema(t.Context(), "postgres", "any"); err != nil {
		t.Errorf("another database: %v", err)
	}
}

// reject makes the server refuse all connections of the provider to a database by its pg_hba.conf.
func reject(t *testing.T, s *pgserver.Server, database string) {
	t.Helper()
	err := s.In(t.Context(), "postgres", func(conn *pgx.Conn) error {
		var file string
		if err := conn.QueryRow(t.Context(), "SHOW hba_file").Scan(&file); err != nil {
			return err
		}
		rules, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rules = append([]byte("host "+database+" "+pgserver.Provider+" all reject\n"), rules...)
		if err := os.WriteFile(file, rules, 0o600); err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), "SELECT pg_reload_conf()")

		return err
	})
	for err == nil { // until the server has read it
		conn, refused := s.Connect(t.Context(), pgserver.Provider, pgserver.Password, database)
		if refused != nil {
			return
		}
		err = conn.Close(t.Context())
	}
	t.Fatal(err)
}

// oldServer lets a proxy say that the server is an older one.
func oldServer(t *testing.T, s *pgserver.Server) {
	port := pgtest.Rewrite(t, s, func(sent []byte) []byte {
		const field = "server_version\x00"
		if i := bytes.Index(sent, []byte(field)); i >= 0 {
			copy(sent[i+len(field):], "9.6.2 (")
		}

		return sent
	})
	c := pgtest.Config(s, nil)
	c.Port, c.Plaintext = port, true
	before, _ := s.Log()
	_, err := open(t, c)
	if !external.IsUnavailable(err) || !strings.Contains(err.Error(), "upgrade the server") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	if after, _ := s.Log(); strings.Contains(after[len(before):], c.User+": LOG") {
		t.Errorf("statements were sent: %s", after[len(before):])
	}
}

// oneText has the network break in several ways: the text is the same.
func oneText(t *testing.T, s *pgserver.Server) {
	proxy := pgtest.NewProxy(t, s)
	session, err := open(t, pgtest.Config(s, proxy))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	look := func() {
		t.Helper()
		_, err := session.Role(t.Context(), "any")
		if !external.IsUnavailable(err) {
			t.Fatalf("got %v, want one that says that the server cannot be reached", err)
		}
		texts = append(texts, err.Error())
	}
	for _, fault := range []func(context.Context) (func(context.Context) error, error){
		func(ctx context.Context) (func(context.Context) error, error) {
			return proxy.Interrupt(ctx, conformance.Interruption{Exchange: 1}) // the answer is lost
		}, proxy.Break,
	} {
		mend, err := fault(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		look()
		look()
		_ = mend(t.Context())
	}
	if texts = slices.Compact(texts); len(texts) > 1 {
		t.Errorf("the texts are %q", texts)
	}
	if _, err := session.Role(t.Context(), "any"); err != nil {
		t.Errorf("when the network works again: %v", err)
	}
}

// rights has a user without CREATEDB and CREATEROLE.
func rights(t *testing.T, s *pgserver.Server) {
	if err := s.Exec(t.Context(), "CREATE ROLE weak LOGIN PASSWORD 'weak-one'"); err != nil {
		t.Fatal(err)
	}
	c := pgtest.Config(s, nil)
	c.User, c.Password = "weak", "weak-one"
	session, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	for needed, err := range map[string]error{
		"CREATEDB":   session.CreateDatabase(t.Context(), "uid", postgres.Database{Name: "weakly"}),
		"CREATEROLE": session.CreateRole(t.Context(), postgres.Role{Name: "weakly"}),
	} {
		reason, ok := external.TerminalReason(err)
		if !ok || reason != "PrivilegeMissing" || !external.IsNotCreated(err) || !strings.Contains(err.Error(), needed) {
			t.Errorf("got %v (%s), want one that says that the user needs %s", err, reason, needed)
		}
	}
}

// names has names that are refused without a statement, and names that work.
func names(t *testing.T, s *pgserver.Server) {
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	before := len(changes(t, s, pgserver.Provider))
	for _, name := range []string{
		"", strings.Repeat("x", 64), strings.Repeat("ü", 32), "a\x00b", "a\nb", "pg_mine", "moorage-mine",
	} {
		for kind, err := range map[string]error{
			"database": session.CreateDatabase(t.Context(), "uid", postgres.Database{Name: name}),
			"role":     session.CreateRole(t.Context(), postgres.Role{Name: name}),
			"schema":   session.CreateSchema(t.Context(), postgres.Schema{Name: name, Database: "postgres"}),
		} {
			if reason, _ := external.TerminalReason(err); reason != "InvalidName" || !external.IsNotCreated(err) {
				t.Errorf("the %s %q: got %v", kind, name, err)
			}
		}
		if found, err := session.Role(t.Context(), name); found != nil || err != nil {
			t.Errorf("there is a role %q: %v, %v", name, found, err)
		}
	}
	if after := changes(t, s, pgserver.Provider); len(after) > before {
		t.Errorf("statements were sent: %q", after[before:])
	}
	for _, name := range []string{
		`a"b`, "it's", `back\slash`, "größe", strings.Repeat("ü", 31), "; DROP ROLE provider; --",
	} {
		want := postgres.Database{Name: name, Comment: "of " + name}
		if err := session.CreateDatabase(t.Context(), "uid", want); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		found, err := session.Databases(t.Context(), name, "uid")
		if err != nil || found.Half != nil || found.Named == nil || found.Named.Comment != want.Comment {
			t.Errorf("%q: found %+v, %v", name, found, err)
		}
		if err := session.DropDatabase(t.Context(), found); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// inUse drops a database that has sessions. It keeps its owner.
func inUse(t *testing.T, s *pgserver.Server) {
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE ROLE keeper", "CREATE DATABASE busy OWNER keeper"} {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	found, err := session.Databases(t.Context(), "busy", "uid")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 { // with one session, and with two
		user, err := s.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "busy")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = user.Close(context.Background()) }()
		err = session.DropDatabase(t.Context(), found)
		if err == nil || !strings.Contains(err.Error(), "is in use: end its sessions") {
			t.Fatalf("got %v, want one that says what to do", err)
		}
		texts = append(texts, err.Error())
		if now, err := session.Databases(t.Context(), "busy", "uid"); err != nil || now.Named.Owner != "keeper" {
			t.Errorf("the owner was changed: %+v, %v", now.Named, err)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("the text changes with the sessions: %q", texts)
	}
	err = s.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'busy'")
	if err != nil {
		t.Fatal(err)
	}
	if err := session.DropDatabase(t.Context(), found); err != nil {
		t.Error(err)
	}
}

// has reports whether a query of the superuser returns a row.
func has(t *testing.T, s *pgserver.Server, query string) bool {
	t.Helper()
	found := false
	err := s.In(t.Context(), "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(t.Context(), query)
		if err != nil {
			return err
		}
		found = rows.Next()
		rows.Close()

		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// nameTaken has another user take the name between the two requests of a creation.
func nameTaken(t *testing.T, s *pgserver.Server) {
	session, err := open(t, pgtest.Config(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`CREATE DATABASE "moorage-uid" OWNER provider`, "CREATE DATABASE wanted",
		"COMMENT ON DATABASE wanted IS 'of another'",
	} {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	want := postgres.Database{Name: "wanted", Comment: "ours"}
	found, err := session.Databases(t.Context(), "wanted", "uid")
	if err != nil || found.Half == nil || found.Named == nil {
		t.Fatalf("found %+v, %v", found, err)
	}
	other := found.Named
	found.Named = nil // as the client does it with one of another owner
	if reason, _ := external.TerminalReason(session.UpdateDatabase(t.Context(), found, want)); reason != "NameTaken" {
		t.Errorf("got the reason %q", reason)
	}
	if err := session.DropDatabase(t.Context(), found); err != nil {
		t.Error(err)
	}
	left, err := session.Databases(t.Context(), "wanted", "uid")
	if err != nil || left.Half != nil || left.Named == nil || left.Named.Comment != other.Comment {
		t.Errorf("left over: %+v, %v", left, err)
	}
	err = s.In(t.Context(), "postgres", func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "DROP DATABASE wanted")

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

package database_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// object returns an object with this name, as a user applies it.
func object(name string) *v1alpha1.Database {
	return &v1alpha1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.DatabaseSpec{ForProvider: v1alpha1.DatabaseParameters{
			Owner: new("app"), ConnectionLimit: new(int32(7)), Encoding: new("UTF8"),
		}},
	}
}

// probe reads and changes databases as a superuser, not through the proxy.
type probe struct {
	*conformance.Proxy
	server *pgserver.Server
}

// exec runs a statement about a database.
func (p probe) exec(ctx context.Context, statement, id string) error {
	return p.server.Exec(ctx, fmt.Sprintf(statement, pgx.Identifier{id}.Sanitize()))
}

// List returns the databases that a new server does not have.
func (p probe) List(ctx context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	err := p.server.In(ctx, "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT datname, datconnlimit::text, pg_get_userbyid(datdba),
			pg_encoding_to_char(encoding),
			coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database
			WHERE datname <> 'postgres' AND NOT datistemplate`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var name, limit, owner, encoding, comment string
			if err := rows.Scan(&name, &limit, &owner, &encoding, &comment); err != nil {
				return err
			}
			out = append(out, conformance.Resource{ID: name, State: map[string]string{
				"limit": limit, "owner": owner, "encoding": encoding, "comment": comment,
			}})
		}

		return rows.Err()
	})

	return out, err
}

// Remove drops a database.
func (p probe) Remove(ctx context.Context, id string) error {
	return p.exec(ctx, "DROP DATABASE IF EXISTS %s WITH (FORCE)", id)
}

// Make creates a database without a comment.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	name := meta.GetExternalName(mg)

	return name, p.exec(ctx, "CREATE DATABASE %s CONNECTION LIMIT 3 OWNER provider", name)
}

// Protect opens a session to a database, as an application does.
func (p probe) Protect(ctx context.Context, id string) (func(context.Context) error, error) {
	conn, err := p.server.Connect(ctx, pgserver.Superuser, pgserver.Password, id)
	if err != nil {
		return nil, err
	}

	return conn.Close, nil
}

// Drift changes the connection limit and the owner of a database.
func (p probe) Drift(ctx context.Context, id string) error {
	quoted := pgx.Identifier{id}.Sanitize()

	return p.server.Exec(ctx, strings.ReplaceAll(
		"ALTER DATABASE @ CONNECTION LIMIT 9; ALTER DATABASE @ OWNER TO other", "@", quoted))
}

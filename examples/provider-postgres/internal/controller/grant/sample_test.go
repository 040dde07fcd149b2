package grant_test

import (
	"context"
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
func object(name string) *v1alpha1.Grant {
	return &v1alpha1.Grant{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.GrantSpec{
			ForProvider: v1alpha1.GrantParameters{
				Role: new("clerk"), Database: new(databaseOf(name)), Privileges: []v1alpha1.Privilege{"CONNECT", "TEMPORARY"},
			},
		},
	}
}

// databaseOf returns the database of a Grant. The samples have the same role, and different databases.
func databaseOf(name string) string {
	if strings.HasSuffix(name, "-2") {
		return "store"
	}

	return "shop"
}

// nameOf returns the name of the sample with a database.
func nameOf(database string) string {
	if database == "store" {
		return "sample-2"
	}

	return "sample"
}

// probe reads and changes the server as a superuser, not through the proxy.
type probe struct {
	*conformance.Proxy
	server *pgserver.Server
}

// exec runs statements about an external resource, whose database takes the place of @.
func (p probe) exec(ctx context.Context, statements, id string) error {
	return p.server.In(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, strings.ReplaceAll(statements, "@", databaseOf(id))).ReadAll()

		return err
	})
}

// List returns what a new server does not have.
func (p probe) List(ctx context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	err := p.server.In(ctx, "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT d.datname, string_agg(x.privilege_type, ' ' ORDER BY x.privilege_type)
			FROM pg_database d, aclexplode(d.datacl) x JOIN pg_roles r ON r.oid = x.grantee
			WHERE r.rolname = 'clerk' AND r.oid <> d.datdba GROUP BY d.datname`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var database, privileges string
			if err := rows.Scan(&database, &privileges); err != nil {
				return err
			}
			out = append(out, conformance.Resource{ID: nameOf(database), State: map[string]string{"privileges": privileges}})
		}

		return rows.Err()
	})

	return out, err
}

// Remove removes an external resource.
func (p probe) Remove(ctx context.Context, id string) error {
	return p.exec(ctx, `REVOKE ALL ON DATABASE @ FROM clerk`, id)
}

// Make creates an external resource without a stamp.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	return meta.GetExternalName(mg), p.exec(ctx, `GRANT CREATE ON DATABASE @ TO clerk`, meta.GetExternalName(mg))
}

// Drift changes an external resource.
func (p probe) Drift(ctx context.Context, id string) error {
	return p.exec(ctx, `GRANT CREATE ON DATABASE @ TO clerk; REVOKE TEMPORARY ON DATABASE @ FROM clerk`, id)
}

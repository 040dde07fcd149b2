package schema_test

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
func object(name string) *v1alpha1.Schema {
	return &v1alpha1.Schema{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.SchemaSpec{
			ForProvider: v1alpha1.SchemaParameters{Database: new(databaseOf(name)), Owner: new("app")},
		},
	}
}

// databases are those of the schemas.
func databases() []string { return []string{"shop", "store"} }

// databaseOf returns the database of a schema: the samples are in different ones.
func databaseOf(schema string) string {
	if strings.HasSuffix(schema, "-2") {
		return "store"
	}

	return "shop"
}

// probe reads and changes the server as a superuser, not through the proxy.
type probe struct {
	*conformance.Proxy
	server *pgserver.Server
}

// exec runs statements about an external resource, whose name takes the place of @.
func (p probe) exec(ctx context.Context, statements, id string) error {
	return p.server.In(ctx, databaseOf(id), func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, strings.ReplaceAll(statements, "@", pgx.Identifier{id}.Sanitize())).ReadAll()

		return err
	})
}

// List returns what a new server does not have. A schema in the wrong database has the name of that in its ID.
func (p probe) List(ctx context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	for _, database := range databases() {
		found, err := p.list(ctx, database)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}

	return out, nil
}

func (p probe) list(ctx context.Context, database string) ([]conformance.Resource, error) {
	var out []conformance.Resource
	err := p.server.In(ctx, database, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT nspname, pg_get_userbyid(nspowner),
			coalesce(obj_description(oid, 'pg_namespace'), '')
			FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT IN ('public', 'information_schema')`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var name, owner, comment string
			if err := rows.Scan(&name, &owner, &comment); err != nil {
				return err
			}
			id := name
			if databaseOf(name) != database {
				id = database + "/" + name
			}
			out = append(out, conformance.Resource{ID: id, State: map[string]string{"owner": owner, "comment": comment}})
		}

		return rows.Err()
	})

	return out, err
}

// Remove removes an external resource.
func (p probe) Remove(ctx context.Context, id string) error {
	database, name, wrong := strings.Cut(id, "/")
	if !wrong {
		return p.exec(ctx, `DROP SCHEMA IF EXISTS @`, id)
	}

	return p.server.In(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize())

		return err
	})
}

// Make creates an external resource without a stamp.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	return meta.GetExternalName(mg), p.exec(ctx, `CREATE SCHEMA @ AUTHORIZATION app`, meta.GetExternalName(mg))
}

// Drift changes an external resource.
func (p probe) Drift(ctx context.Context, id string) error {
	return p.exec(ctx, `ALTER SCHEMA @ OWNER TO other`, id)
}

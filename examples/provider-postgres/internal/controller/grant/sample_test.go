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
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

// object returns an object with this name, as a user applies it.
func object(name string) *v1alpha1.Grant {
	return &v1alpha1.Grant{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.GrantSpec{
			ForProvider: v1alpha1.GrantParameters{
				Role: new(name), Database: new("shop"), Privileges: []v1alpha1.Privilege{"CONNECT", "TEMPORARY"},
			},
		},
	}
}

// probe reads and changes the server as a superuser, not through the proxy.
type probe struct {
	*pgtest.Proxy
	server *pgserver.Server
}

// exec runs statements about an external resource, whose name takes the place of @.
func (p probe) exec(ctx context.Context, statements, id string) error {
	return p.server.In(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, strings.ReplaceAll(statements, "@", pgx.Identifier{id}.Sanitize())).ReadAll()

		return err
	})
}

// List returns what a new server does not have.
func (p probe) List(ctx context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	err := p.server.In(ctx, "postgres", func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT r.rolname, string_agg(x.privilege_type, ' ' ORDER BY x.privilege_type)
			FROM pg_database d, aclexplode(d.datacl) x JOIN pg_roles r ON r.oid = x.grantee
			WHERE d.datname = 'shop' AND r.oid <> d.datdba GROUP BY r.rolname`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var name, privileges string
			if err := rows.Scan(&name, &privileges); err != nil {
				return err
			}
			out = append(out, conformance.Resource{ID: name, State: map[string]string{"privileges": privileges}})
		}

		return rows.Err()
	})

	return out, err
}

// Remove removes an external resource.
func (p probe) Remove(ctx context.Context, id string) error {
	return p.exec(ctx, `REVOKE ALL ON DATABASE shop FROM @`, id)
}

// Make creates an external resource without a stamp.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	return meta.GetExternalName(mg), p.exec(ctx, `GRANT CREATE ON DATABASE shop TO @`, meta.GetExternalName(mg))
}

// Drift changes an external resource.
func (p probe) Drift(ctx context.Context, id string) error {
	return p.exec(ctx, `GRANT CREATE ON DATABASE shop TO @; REVOKE TEMPORARY ON DATABASE shop FROM @`, id)
}

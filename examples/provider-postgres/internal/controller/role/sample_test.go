package role_test

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// object returns an object with this name, as a user applies it.
func object(name string) *v1alpha1.Role {
	return &v1alpha1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.RoleSpec{
			WriteConnectionSecretToRef: &v1alpha1.SecretReference{Name: name + "-connection"},
			ForProvider:                v1alpha1.RoleParameters{ConnectionLimit: new(int32(7))},
		},
	}
}

// probe reads and changes the server as a superuser, not through the proxy.
type probe struct {
	*conformance.Proxy
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
		rows, err := conn.Query(ctx, `SELECT rolname, rolcanlogin::text, rolcreatedb::text, rolconnlimit::text,
			coalesce(rolpassword, ''),
			coalesce(shobj_description(oid, 'pg_authid'), ''),
			coalesce((rolvaliduntil AT TIME ZONE 'UTC')::text, '')
			FROM pg_authid WHERE rolname NOT IN ('postgres', 'provider') AND rolname NOT LIKE 'pg\_%'`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var name, login, creates, limit, verifier, comment, until string
			if err := rows.Scan(&name, &login, &creates, &limit, &verifier, &comment, &until); err != nil {
				return err
			}
			_, password, _ := strings.Cut(comment, "\npassword ")
			_, rotation, _ := strings.Cut(password, " ") // for which the password was set
			out = append(out, conformance.Resource{ID: name, State: map[string]string{
				"login": login, "creates": creates, "limit": limit, "verifier": verifier, "comment": comment, "until": until,
				"rotation": rotation,
			}})
		}

		return rows.Err()
	})

	return out, err
}

// Remove removes an external resource.
func (p probe) Remove(ctx context.Context, id string) error {
	return p.exec(ctx, `DROP ROLE IF EXISTS @`, id)
}

// Make creates an external resource without a stamp.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	return meta.GetExternalName(mg), p.exec(ctx, `CREATE ROLE @ CONNECTION LIMIT 3`, meta.GetExternalName(mg))
}

// DriftUnmanaged changes what the provider leaves to the administrator.
func (p probe) DriftUnmanaged(ctx context.Context, id string) error {
	return p.exec(ctx, `ALTER ROLE @ VALID UNTIL '2040-01-01T00:00:00Z'`, id)
}

// Authenticate logs in as an application does. The password of a role that may not log in is checked, too.
func (p probe) Authenticate(ctx context.Context, details map[string][]byte) error {
	conn, err := p.server.Connect(ctx, string(details["username"]), string(details["password"]), "postgres")
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &answer) && strings.Contains(answer.Message, "is not permitted to log in"):
		return nil
	case err != nil:
		return err
	default:
		return conn.Close(ctx)
	}
}

// Drift changes an external resource.
func (p probe) Drift(ctx context.Context, id string) error {
	return p.exec(ctx, `ALTER ROLE @ CREATEDB CONNECTION LIMIT 9`, id)
}

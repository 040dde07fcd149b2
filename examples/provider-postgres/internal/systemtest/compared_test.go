package systemtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// What the server has without the objects of the test is left out. The UID of a stamp is between its last slash and the
// end of its line.
const (
	compareRoles = `
SELECT rolname || ' limit ' || rolconnlimit || ' of ' || split_part(shobj_description(oid, 'pg_authid'), E'\n', 1)
FROM pg_roles WHERE rolname !~ '^pg_' AND rolname NOT IN ('postgres', 'provider', 'auditor')`
	compareDatabases = `
SELECT datname || ' limit ' || datconnlimit || ' owner ' || pg_get_userbyid(datdba) || ' of ' ||
       coalesce(shobj_description(oid, 'pg_database'), '')
FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'`
	compareGrants = `
SELECT datname || ' ' || string_agg(x.privilege_type, ',' ORDER BY x.privilege_type)
FROM pg_database d, aclexplode(d.datacl) x, pg_roles r
WHERE r.oid = x.grantee AND r.oid <> d.datdba GROUP BY datname, r.rolname`
	compareSchemas = `
SELECT current_database() || ' ' || nspname || ' owner ' || pg_get_userbyid(nspowner) || ' of ' ||
       coalesce(obj_description(oid, 'pg_namespace'), '')
FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')`
)

// settled runs the provider until all objects are as desired or gone, and compares them with the server.
func (c *chaos) settled(t *testing.T) {
	t.Helper()
	kill := c.run(t)
	defer kill()
	for i := range *shops {
		c.Until(t, fmt.Sprintf("shop-%d is as desired, or gone", i), func() bool { return c.settles(t, i) })
	}
	if diff := cmp.Diff(c.desired(t), c.actual(t)); diff != "" {
		t.Errorf("-objects, +server:\n%s", diff)
	}
}

// desired returns what the server has to have, by kind.
func (c *chaos) desired(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{"roles": nil, "databases": nil, "grants": nil, "schemas": nil}
	add := func(kind, line string) { out[kind] = append(out[kind], line) }
	for i := range *shops {
		for _, mg := range c.stored(t, i) {
			n := mg.GetName()
			stamp := func(kind string) string { return fmt.Sprintf("%s/%s/%s/%s", kind, mg.GetNamespace(), n, mg.GetUID()) }
			switch mg := mg.(type) {
			case *v1alpha1.Role:
				add("roles", fmt.Sprintf("%s limit %d of %s", n, orNoLimit(mg.Spec.ForProvider.ConnectionLimit), stamp("Role")))
				c.loggedIn(t, n)
			case *v1alpha1.Database:
				add("databases", fmt.Sprintf("%s limit %d owner %s of %s", n, orNoLimit(mg.Spec.ForProvider.ConnectionLimit), n,
					stamp("Database")))
			case *v1alpha1.Schema:
				add("schemas", fmt.Sprintf("%s %s owner %s of %s", n, n, n, stamp("Schema")))
			case *v1alpha1.Grant:
				var privileges []string
				for _, p := range mg.Spec.ForProvider.Privileges {
					privileges = append(privileges, string(p))
				}
				slices.Sort(privileges)
				add("grants", n+" "+strings.Join(privileges, ","))
			}
		}
	}

	return out
}

func orNoLimit(limit *int32) int32 {
	if limit == nil {
		return -1
	}

	return *limit
}

// loggedIn fails unless the password in a Secret works.
func (c *chaos) loggedIn(t *testing.T, name string) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.Kube.Get(t.Context(), ctrlclient.ObjectKey{Namespace: c.Namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	conn, err := c.Server.Connect(t.Context(), name, string(secret.Data["password"]), "postgres")
	if err != nil {
		t.Errorf("the password in the Secret %s does not work: %v", name, err)

		return
	}
	_ = conn.Close(t.Context())
}

// actual returns what the server has, by kind. The cluster and the group are cut off from stamps.
func (c *chaos) actual(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for kind, query := range map[string]string{
		"roles": compareRoles, "databases": compareDatabases, "grants": compareGrants,
	} {
		out[kind] = c.rows(t, "postgres", query)
	}
	out["schemas"] = nil
	for _, line := range out["databases"] {
		name, _, _ := strings.Cut(line, " ")
		out["schemas"] = append(out["schemas"], c.rows(t, name, compareSchemas)...)
	}

	return out
}

// rows returns the sorted lines of a query in a database.
func (c *chaos) rows(t *testing.T, database, query string) []string {
	t.Helper()
	conn, err := c.Server.Connect(t.Context(), pgserver.Superuser, pgserver.Password, database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range out {
		if before, stamp, ok := strings.Cut(line, " of "); ok {
			if parts := strings.SplitN(stamp, "/", 3); len(parts) == 3 {
				out[i] = before + " of " + parts[2]
			}
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil
	}

	return out
}

package systemtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// drifting returns objects of all kinds whose policies do not allow to update.
func drifting(namespace string) (*v1alpha1.Role, *v1alpha1.Database, *v1alpha1.Schema, *v1alpha1.Grant) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "drifting"}
	spec := v1alpha1.ResourceSpec{ManagementPolicies: commonv1.ManagementPolicies{"Observe", "Create", "Delete"}}
	role := &v1alpha1.Role{ObjectMeta: meta, Spec: v1alpha1.RoleSpec{ResourceSpec: spec}}
	database := &v1alpha1.Database{ObjectMeta: meta, Spec: v1alpha1.DatabaseSpec{ResourceSpec: spec}}
	database.Spec.ForProvider.ConnectionLimit = new(int32(5))
	schema := &v1alpha1.Schema{ObjectMeta: meta, Spec: v1alpha1.SchemaSpec{ResourceSpec: spec}}
	schema.Spec.ForProvider = v1alpha1.SchemaParameters{Database: new("drifting"), Owner: new("drifting")}
	grant := &v1alpha1.Grant{ObjectMeta: meta, Spec: v1alpha1.GrantSpec{ResourceSpec: spec}}
	grant.Spec.ForProvider = v1alpha1.GrantParameters{
		Role: new("drifting"), Database: new("drifting"), Privileges: []v1alpha1.Privilege{"CONNECT"},
	}

	return role, database, schema, grant
}

// TestDrift changes what the server has, while no update is allowed: the status names each field that differs, with
// both values unless they are secret.
func TestDrift(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	role, database, schema, grant := drifting(w.Namespace)
	for _, mg := range []resource.Managed{role, database, schema, grant} {
		create(t, w, mg)
		w.Ready(t, mg)
	}
	conn, err := w.Server.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "drifting")
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.PgConn().Exec(t.Context(), "CREATE ROLE usurper; ALTER ROLE drifting CREATEDB; "+
		"ALTER DATABASE drifting CONNECTION LIMIT 7; GRANT TEMPORARY ON DATABASE drifting TO drifting; "+
		"ALTER SCHEMA drifting OWNER TO usurper").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	for mg, want := range map[resource.Managed]commonv1.Difference{
		role:     {Path: "createDatabase", Desired: "false", Observed: "true"},
		database: {Path: "connectionLimit", Desired: "5", Observed: "7"},
		schema:   {Path: "owner", Desired: `"drifting"`, Observed: `"usurper"`},
		grant:    {Path: "privileges", Desired: `["CONNECT"]`, Observed: `["CONNECT","TEMPORARY"]`},
	} {
		drifts(t, w, mg, want)
	}

	patch := ctrlclient.MergeFrom(role.DeepCopy())
	role.Spec.WriteConnectionSecretToRef = &v1alpha1.SecretReference{Name: "drifting"}
	if err := w.Kube.Patch(t.Context(), role, patch); err != nil {
		t.Fatal(err)
	}
	drifts(t, w, role, commonv1.Difference{Path: "createDatabase", Desired: "false", Observed: "true"},
		commonv1.Difference{Path: "password", Sensitive: true})
	for _, mg := range []resource.Managed{grant, schema, database, role} {
		remove(t, w, mg)
	}
}

// drifts waits until the status has these differences, and no other.
func drifts(t *testing.T, w testenv.World, mg resource.Managed, want ...commonv1.Difference) {
	t.Helper()
	w.Until(t, mg.GetName()+" has its differences in the status", func() bool {
		if w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg) != nil {
			return false
		}

		return cmp.Equal(&commonv1.Drift{Fields: want}, mg.(resource.DriftReporter).GetDrift()) &&
			mg.GetCondition(commonv1.TypeUpToDate).Status == metav1.ConditionFalse
	})
}

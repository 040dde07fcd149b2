package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/plan"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// TestPlan: a database at rest stays as it is, and what a manifest would create or change is shown without a change.
func TestPlan(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	database := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "planned"}}
	database.Spec.ForProvider.ConnectionLimit = new(int32(5))
	create(t, w, database)
	w.Ready(t, database)

	if code, out, errs := w.Plan(t, "--namespace", w.Namespace); code != plan.ExitUnchanged ||
		!strings.Contains(out, "1 as it is.\nNothing was changed.") {
		t.Errorf("at rest: exit code %d\n%s%s", code, out, errs)
	}

	file := filepath.Join(t.TempDir(), "database.yaml")
	manifest := func(name string) string {
		return "apiVersion: postgres.moorage.dev/v1alpha1\nkind: Database\nmetadata: {name: " + name + ", namespace: " +
			w.Namespace + "}\nspec: {forProvider: {connectionLimit: 9}}\n---\n"
	}
	if err := os.WriteFile(file, []byte(manifest("planned")+manifest("other")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := w.Plan(t, "-f", file)
	if code != plan.ExitChanges || !strings.Contains(out, "connectionLimit 9 <- 5") ||
		!strings.Contains(out, "1 would be created, 1 would be updated.\n") {
		t.Errorf("of manifests: exit code %d\n%s%s", code, out, errs)
	}
	var databases int
	conn, err := w.Server.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "planned")
	if err != nil {
		t.Fatal(err)
	}
	err = conn.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_database WHERE datname = 'other' OR datconnlimit = 9").Scan(&databases)
	_ = conn.Close(t.Context())
	if err != nil || databases > 0 {
		t.Errorf("%d databases were created or changed: %v", databases, err)
	}
	other := ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "other"}
	if err := w.Kube.Get(t.Context(), other, &v1alpha1.Database{}); !resource.IsNotFound(err) {
		t.Errorf("a manifest was applied: %v", err)
	}
	remove(t, w, database)
}

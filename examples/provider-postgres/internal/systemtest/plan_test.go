package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/plan"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
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
	planJob(t, w, file)
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

// planJob runs the command line of the Job of deploy/plan as a process, with the permissions of its service account.
func planJob(t *testing.T, w testenv.World, file string) {
	t.Helper()
	var job batchv1.Job
	read(t, filepath.Join("..", "..", "deploy", "plan", "job.yaml"), &job)
	pod, program := job.Spec.Template.Spec, filepath.Join(t.TempDir(), "provider")
	if len(pod.Containers) != 1 || len(pod.Containers[0].Command)+len(pod.Containers[0].EnvFrom) > 0 ||
		pod.ServiceAccountName != provider.Name+"-plan" {
		t.Fatalf("the Job is not as it is run here: %+v", pod)
	}
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/provider").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "KUBECONFIG="+testenv.PlanKubeconfig(t, w.Kube))
	for _, tc := range []struct {
		before, after []string // the arguments of the Job
		code          int
		want          string
	}{
		{[]string{"--namespace", w.Namespace}, nil, plan.ExitUnchanged, "1 as it is.\nNothing was changed."},
		{nil, []string{"-f", file}, plan.ExitChanges, "1 would be created, 1 would be updated.\n"},
		{[]string{"--allow-hosts", "none", "--namespace", w.Namespace}, nil, plan.ExitFailed, "1 could not be planned."},
		{[]string{"rum"}, nil, 2, `there is no command "rum"`},
	} {
		cmd := exec.Command(program, slices.Concat(tc.before, pod.Containers[0].Args, tc.after)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out), tc.want) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s", cmd.Args[1:], code, tc.code, tc.want, out)
		}
	}
}

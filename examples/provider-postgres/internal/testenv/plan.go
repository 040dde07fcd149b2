package testenv

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/plan"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
)

// Plan runs the command that shows what the provider of the world would change, with the permissions of the
// service account of deploy/plan. It returns the exit code and the output. The test fails if the command requests a
// change from the API server.
func (w World) Plan(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()

	ledger := &test.Ledger{}

	p, err := provider.Plan(w.options, func(kubeconfig string) (*rest.Config, error) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err == nil {
			cfg.Wrap(ledger.Wrap)
		}

		return cfg, err
	})
	must(t, err)

	var out, errs bytes.Buffer

	code = plan.Run(t.Context(), append([]string{"--kubeconfig", PlanKubeconfig(t, w.Kube)}, args...), &out, &errs, p)

	for _, r := range ledger.All() {
		if r.Verb != http.MethodGet && r.Status != http.StatusForbidden { // the dry run of a manifest is forbidden
			t.Errorf("the plan has sent %+v", r)
		}
	}

	return code, out.String(), errs.String()
}

// PlanKubeconfig applies the role of deploy/plan and its binding, and returns the path of a kubeconfig of the service
// account, which has the role.
func PlanKubeconfig(t *testing.T, kube ctrlclient.Client) string {
	t.Helper()

	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	for name, obj := range map[string]ctrlclient.Object{"role.yaml": role, "clusterrolebinding.yaml": binding} {
		decode(t, kube.Scheme(), located("deploy/plan/"+name), obj)
		must(t, ctrlclient.IgnoreAlreadyExists(kube.Create(t.Context(), obj)))
	}

	account := binding.Subjects[0]

	kubeconfig, err := devcluster.Shared(t).UserKubeconfig(t.Context(),
		"system:serviceaccount:"+account.Namespace+":"+account.Name, "system:serviceaccounts")
	must(t, err)

	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(path, kubeconfig, 0o600))

	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)

	user, err := ctrlclient.New(cfg, ctrlclient.Options{Scheme: kube.Scheme()})
	must(t, err)

	wait.Until(t, "the service account has its role", func() bool { // the API server applies it after a delay
		return user.Get(t.Context(), ctrlclient.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}) == nil
	})

	return path
}

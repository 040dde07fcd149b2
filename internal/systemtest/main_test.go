package systemtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Shared by the tests of this package: the API server of the test run, with the kind installed.
var (
	config     *rest.Config
	kubeconfig string // the path of the same as a file
	scheme     *runtime.Scheme
	api        client.Client // with all permissions; its requests are not counted
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctrllog.SetLogger(logr.Discard())
	cluster, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	kubeconfig = cluster.Kubeconfig
	if config, err = cluster.RESTConfig(); err != nil {
		return 1, err
	}
	if scheme, err = stories.Scheme(); err != nil {
		return 1, err
	}
	if api, err = install(config); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// install installs the kind and returns a client.
func install(c *rest.Config) (client.Client, error) {
	if _, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{volume.CRD(), volume.SnapshotCRD(),
			volume.ProviderConfigCRD()},
		Scheme: scheme, MaxTime: wait.Patience(),
	}); err != nil {
		return nil, err
	}

	return client.New(c, client.Options{Scheme: scheme})
}

// namespace makes a namespace for a test.
func namespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "systemtest-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), ns) })

	return ns.Name
}

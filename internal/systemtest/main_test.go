package systemtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/go-logr/logr"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/devcluster"
)

// Shared by the tests of this package: the API server of the test run, with the
// kind installed.
var (
	config *rest.Config
	scheme = runtime.NewScheme()
	api    client.Client // with every permission, not counted
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
	if config, err = cluster.RESTConfig(); err != nil {
		return 1, err
	}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, volume.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	if api, err = install(config); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// Install installs the kind and returns a client.
func install(c *rest.Config) (client.Client, error) {
	if _, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{
		CRDs:   []*apiextensionsv1.CustomResourceDefinition{volume.CRD(), volume.SnapshotCRD(), volume.ProviderConfigCRD()},
		Scheme: scheme,
	}); err != nil {
		return nil, err
	}

	return client.New(c, client.Options{Scheme: scheme})
}

// Operate starts a manager, and stops it with the test.
func operate(t *testing.T, m manager.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	if !m.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("cache does not sync")
	}
}

// Namespace makes a namespace for a test.
func namespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "systemtest-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), ns) })

	return ns.Name
}

func newVolume(namespace, name string) *volume.Volume {
	return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: volume.Spec{SizeGiB: 1}}
}

// Eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Print a figure alone on its line.
func figure(name string, value any) {
	fmt.Printf("%s: %v\n", strings.ReplaceAll(name, " ", "_"), value)
}

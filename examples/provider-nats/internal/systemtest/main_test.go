package systemtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Shared by the tests of this package, because TestMain has no other way to hand
// them on.
var (
	kube   client.Client // with every permission
	access *rest.Config  // of the provider
	logged = &journal{passes: map[string]int{}}
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		code = 1
	}

	os.Exit(code)
}

// run starts an API server of its own: the provider watches all namespaces, and would reconcile the objects
// of other packages in a shared one.
func run(m *testing.M) (code int, err error) {
	flag.Parse()

	// Parallel tests of this package wait most of the time.
	if err := flag.Set("test.parallel", "32"); err != nil {
		return 1, err
	}

	ctrl.SetLogger(logged.logger())
	klog.SetLogger(logged.logger())

	ctx, cancel := context.WithTimeout(context.Background(), 3*wait.Patience())
	defer cancel()

	cluster, err := devcluster.Start(ctx, devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}

	defer func() { err = errors.Join(err, cluster.Stop()) }()

	if err := prepare(ctx, cluster); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

func prepare(ctx context.Context, cluster *devcluster.Cluster) error {
	everything, err := cluster.RESTConfig()
	if err != nil {
		return err
	}

	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}

	if kube, err = client.New(everything, client.Options{Scheme: scheme}); err != nil {
		return err
	}

	if err := devenv.Install(ctx, kube); err != nil {
		return err
	}

	access, err = cluster.UserConfig(ctx, provider.Name)

	return err
}

// startProvider runs the provider until ctx ends or it fails: then its error is in the channel. Its
// requests to the API server are sent through carry.
func startProvider(ctx context.Context, change func(*provider.Options), carry transport.WrapperFunc) <-chan error {
	o, cfg, stopped := provider.DefaultOptions(), rest.CopyConfig(access), make(chan error, 1)
	o.HealthAddress, o.MetricsAddress = "0", "0"
	o.Logger = logged.logger()
	change(&o)
	cfg.Wrap(carry)

	go func() { stopped <- provider.Run(ctx, cfg, o) }()

	return stopped
}

// namespace creates a namespace for a test.
func namespace(t *testing.T) string {
	t.Helper()

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "systemtest-"}}
	must(t, kube.Create(t.Context(), ns))
	t.Cleanup(func() { _ = kube.Delete(context.Background(), ns) })

	return ns.Name
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

package connect

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/devcluster"
)

var (
	scheme = runtime.NewScheme()
	plane  *rest.Config
	api    client.Client
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
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clustersv1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	c, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = c.Stop() }()
	if plane, err = c.RESTConfig(); err != nil {
		return 1, err
	}
	if api, err = client.New(plane, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if err := clusterstest.InstallCRDs(context.Background(), api, clustersv1alpha1.CRDs()); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// start runs the controller over clusters of one namespace until the test ends.
func start(t *testing.T, cache Cache, o ...Option) {
	t.Helper()
	m, err := ctrl.NewManager(plane, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(m, cache, append([]Option{WithRecheckInterval(200 * time.Millisecond), WithProbeInterval(200 * time.Millisecond)}, o...)...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "connect-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	return ns.Name
}

// credentials returns a kubeconfig for a service account, which is made if need be.
func credentials(t *testing.T, ns, name string) []byte {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	if err := client.IgnoreAlreadyExists(api.Create(t.Context(), account)); err != nil {
		t.Fatal(err)
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	if err := api.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	c := &rest.Config{Host: plane.Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: plane.CAData}}
	out, err := clusters.New(name).WithRESTConfig(c).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

package connect

import (
	"context"
	"crypto/rand"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	poll "k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	seen "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var (
	scheme           = runtime.NewScheme()
	adminConfig      *rest.Config
	api              client.Client
	restrictedConfig *rest.Config // of a user with the permissions in the package comment only
)

func TestMain(m *testing.M) {
	leak.VerifyTestMain(leak.Tests(func() (int, error) { return run(m) }), leak.Connections()...)
}

func run(m *testing.M) (int, error) {
	ctrllog.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clustersv1alpha1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	c, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = c.Stop() }()
	if adminConfig, err = c.RESTConfig(); err != nil {
		return 1, err
	}
	if api, err = client.New(adminConfig, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if err := clusterstest.InstallCRDs(context.Background(), api, clustersv1alpha1.CRDs()); err != nil {
		return 1, err
	}

	user := "connect-" + rand.Text()
	if restrictedConfig, err = c.UserConfig(context.Background(), user); err != nil {
		return 1, err
	}
	if err := bindRole(context.Background(), user); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// bindRole gives the restricted user the role in the package comment, and waits until it
// applies.
func bindRole(ctx context.Context, user string) error {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		return err
	}
	who, err := client.New(restrictedConfig, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "connect-"}}
	for _, m := range regexp.MustCompile(
		`\+kubebuilder:rbac:groups=([^,]*),resources=([^,]*),verbs=(\S+)`).FindAllStringSubmatch(
		string(text), -1) {
		split := func(i int) []string { return strings.Split(strings.Trim(m[i], `"`), ";") }
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: split(1), Resources: split(2), Verbs: split(3)})
	}
	if err := api.Create(ctx, role); err != nil {
		return err
	}
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name,
		},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if err := api.Create(ctx, bound); err != nil {
		return err
	}

	return poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true, func(
		ctx context.Context,
	) (bool, error) {
		return who.List(ctx, &clustersv1alpha1.ClusterList{}) == nil, nil
	})
}

// start runs the controller over all clusters until the test ends.
func start(t *testing.T, cache Cache, o ...Option) {
	t.Helper()
	startIn(t, nil, cache, o...)
}

// startIn runs the controller over the clusters of some namespaces, until the test ends
// or stop is called.
func startIn(t *testing.T, namespaces map[string]seen.Config, cache Cache, o ...Option) (stop func()) {
	t.Helper()
	m, err := ctrl.NewManager(restrictedConfig, ctrl.Options{
		Scheme: scheme, Cache: seen.Options{DefaultNamespaces: namespaces}, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(m, cache, append([]Option{
		WithRecheckInterval(200 * time.Millisecond), WithProbeInterval(200 * time.Millisecond),
	}, o...)...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(stop)

	return stop
}

// namespace creates a namespace and returns its name.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "connect-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	return ns.Name
}

// credentials returns a kubeconfig for a service account, which it creates if necessary.
func credentials(t *testing.T, ns, name string) []byte {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	if err := client.IgnoreAlreadyExists(api.Create(t.Context(), account)); err != nil {
		t.Fatal(err)
	}
	out, err := tokenKubeconfig(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// tokenKubeconfig returns a kubeconfig with a new token for a service account.
func tokenKubeconfig(ctx context.Context, account *corev1.ServiceAccount) ([]byte, error) {
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	if err := api.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, err
	}
	c := &rest.Config{
		Host: adminConfig.Host, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: adminConfig.CAData},
	}

	return clusters.New(account.Name).WithRESTConfig(c).WriteKubeconfig()
}

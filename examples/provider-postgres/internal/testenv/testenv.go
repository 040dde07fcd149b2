// Package testenv runs the whole provider for tests: on a real API server, with the
// permissions of its role only, and with a PostgreSQL server. Start with [Start].
package testenv

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/ready"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	kinds "github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
)

// Poll is the poll interval of the provider.
const Poll = 100 * time.Millisecond

// A World is a cluster with the provider and a PostgreSQL server.
type World struct {
	// Kube is a client with all permissions, and Namespace the namespace of this test.
	Kube      ctrlclient.Client
	Namespace string

	// Server is the PostgreSQL server, Proxy the network to it, Ledger records the requests of the provider to the
	// cluster, and Log has the last lines of its log.
	Server *pgserver.Server
	Proxy  *conformance.Proxy
	Ledger *test.Ledger
	Log    *ready.Log

	access  *rest.Config // of the provider
	options provider.Options
}

// Start starts a world with a provider, which ends with the test. All worlds share one API
// server, and the provider reconciles the objects of all its namespaces: use one world at
// a time, and delete all objects at the end.
//
// Where PostgreSQL is not installed, it returns false, see pgtest.Start: the test has to return.
func Start(t *testing.T) (World, bool) {
	t.Helper()

	w, ok := New(t)
	if !ok {
		return w, false
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := w.Run(ctx, func(*provider.Options) {}, w.Ledger.Wrap)

	t.Cleanup(func() {
		stop()
		must(t, <-stopped)
	})

	return w, true
}

// New returns a world in which no provider runs yet: see Run. The restrictions of Start
// apply.
func New(t *testing.T) (World, bool) {
	t.Helper()

	server, ok := pgtest.Start(t)
	if !ok {
		return World{}, false
	}

	kube := Installed(t)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))

	grant(t, kube)

	limited, err := devcluster.Shared(t).UserConfig(t.Context(), provider.Name)
	must(t, err)

	w := World{
		Kube: kube, Namespace: namespace.Name, Ledger: &test.Ledger{}, Log: &ready.Log{}, access: limited,
		Server: server, Proxy: pgtest.NewProxy(t, server),
	}

	w.options = provider.DefaultOptions()
	w.options.Logger = w.Log.Logger()
	ctrl.SetLogger(w.options.Logger) // for what has no logger of its own
	w.options.Connect = connection(t, kube, w.Namespace, server.CA, pgtest.ProxyPort(w.Proxy))
	w.options.PollInterval, w.options.MaxReconcileRate = Poll, 100
	w.options.HealthAddress, w.options.MetricsAddress = "0", "0"

	return w, true
}

// Installed installs the CRDs on the API server that tests share, and returns a client with
// all permissions.
func Installed(t *testing.T) ctrlclient.Client {
	t.Helper()

	admin, err := devcluster.Shared(t).RESTConfig()
	must(t, err)

	_, err = envtest.InstallCRDs(admin, envtest.CRDInstallOptions{
		Paths: []string{packaged("crds")}, ErrorIfPathMissing: true, MaxTime: wait.Patience(),
	})
	must(t, err)

	return Kube(t)
}

// Kube returns a client with all permissions, of the API server that tests share.
func Kube(t *testing.T) ctrlclient.Client {
	t.Helper()

	admin, err := devcluster.Shared(t).RESTConfig()
	must(t, err)

	scheme := runtime.NewScheme()
	all := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, kinds.AddToScheme)
	must(t, all.AddToScheme(scheme))

	kube, err := ctrlclient.New(admin, ctrlclient.Options{Scheme: scheme})
	must(t, err)

	return kube
}

// grant creates the role of the provider, and binds it to the user of the provider.
func grant(t *testing.T, kube ctrlclient.Client) {
	t.Helper()

	role := &rbacv1.ClusterRole{}
	decode(t, kube.Scheme(), packaged("rbac/role.yaml"), role)
	must(t, ctrlclient.IgnoreAlreadyExists(kube.Create(t.Context(), role)))

	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: provider.Name}},
	}
	must(t, ctrlclient.IgnoreAlreadyExists(kube.Create(t.Context(), binding)))
}

// decode reads the object of a file.
func decode(t *testing.T, scheme *runtime.Scheme, path string, into runtime.Object) {
	t.Helper()

	text, err := os.ReadFile(path)
	must(t, err)

	from := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true})
	_, _, err = from.Decode(text, nil, into)
	must(t, err)
}

// Run runs the provider like its program, with the options that change sets, until ctx ends
// or the provider fails; the channel then receives its error. The function carry wraps the
// transport of its requests to the cluster.
func (w World) Run(ctx context.Context, change func(*provider.Options), carry transport.WrapperFunc) <-chan error {
	o, cfg, stopped := w.options, rest.CopyConfig(w.access), make(chan error, 1)
	change(&o)
	cfg.Wrap(carry)

	// By these log lines, the ledger does not count reads that a slow machine causes.
	logged := managed.WithLogger(w.Ledger.Logger(logging.NewLogrLogger(o.Logger)))

	go func() { stopped <- provider.Run(ctx, cfg, o, logged) }()

	return stopped
}

// packaged returns the path of a file in the folder package.
func packaged(name string) string { return located("package/" + name) }

// located returns the path of a file of the project. It searches upwards from the folder of
// the test.
func located(name string) string {
	root := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}

		root = filepath.Join(root, "..")
	}

	return filepath.Join(root, filepath.FromSlash(name))
}

// Ready waits until an object is ready. If it waits in vain, it says why.
func (w World) Ready(t *testing.T, mg resource.Managed) {
	t.Helper()

	ready.Wait(t, w.Kube, mg, w.Log)
}

// Gone waits until an object is gone.
func (w World) Gone(t *testing.T, mg resource.Managed) {
	t.Helper()

	w.Until(t, mg.GetName()+" is gone", func() bool {
		err := w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg)

		return err != nil && resource.IgnoreNotFound(err) == nil
	})
}

// Until waits until a condition holds, or fails at the deadline of the test.
func (w World) Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait.Until(t, what, holds)
}

// Spent fails if the provider has sent more requests for the object with this name than
// permitted since the ledger was reset. Requests for other objects do not count, nor does a
// read that the runtime needs because of a stale cache.
func (w World) Spent(t *testing.T, name, on string, most int) {
	t.Helper()

	var sent []test.Request

	for _, r := range w.Ledger.Objects() {
		if r.Name == name {
			sent = append(sent, r)
		}
	}

	if len(sent) > most {
		t.Errorf("%d requests on %s, want %d at most: %s", len(sent), on, most, test.SummarizeRequests(sent))
	}
}

// Idle fails if the provider has sent any request for any object, or an event, since the
// ledger was reset. A read that the runtime needs because of a stale cache does not count.
func (w World) Idle(t *testing.T, on string) {
	t.Helper()

	if sent := slices.Concat(w.Ledger.Objects(), w.Ledger.Events()); len(sent) > 0 {
		t.Errorf("%d requests on %s, want none: %s", len(sent), on, test.SummarizeRequests(sent))
	}
}

// GuardReads fails unless the deletion guard has read exactly these CRDs and namespaces, each
// as "RESOURCE NAME", since the ledger was reset.
func (w World) GuardReads(t *testing.T, on string, want ...string) {
	t.Helper()

	var read []string

	for _, r := range w.Ledger.Objects() {
		if r.Resource == "customresourcedefinitions" || r.Resource == "namespaces" {
			read = append(read, r.Resource+" "+r.Name)
		}
	}

	if !slices.Equal(want, read) {
		t.Errorf("the deletion guard has read %q on %s, want %q", read, on, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

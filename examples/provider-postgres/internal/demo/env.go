// Package demo shows what the provider does, step by step. The state is read from the API server and from PostgreSQL,
// never from the provider. Start with [Run].
package demo

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	kinds "github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
	manifests "github.com/moorage-dev/moorage/examples/provider-postgres/package"
)

// poll is how often the provider looks at each object in the demo.
const poll = 2 * time.Second

// An env is what the demo has started.
type env struct {
	cluster  *devcluster.Cluster
	kube     client.Client
	server   *pgserver.Server
	provider context.CancelFunc
	ended    chan struct{}
	err      error // why the provider ended; to be read when ended is closed
}

// Run shows the tour, and stays until ctx ends unless once is set.
func Run(ctx context.Context, out io.Writer, once bool) error {
	e := &env{}
	log.SetLogger(logr.Discard()) // the tour shows what matters
	g := &tour.Guide{
		Out: out, Once: once,
		Start: func(ctx context.Context) (*tour.Tour, error) {
			fmt.Fprintln(out, "Starting an API server, PostgreSQL and the provider.")

			return &tour.Tour{Out: out, Steps: e.steps()}, e.start(ctx, out)
		},
		Commands: func() []string {
			return []string{
				"export KUBECONFIG=" + e.cluster.Kubeconfig,
				"kubectl get managed",
				"kubectl get database shop -o yaml",
				fmt.Sprintf("PGPASSWORD=%s psql -h 127.0.0.1 -p %d -U %s postgres -c '\\l+' -c '\\du+'", pgserver.Password,
					e.server.Port, pgserver.Superuser),
			}
		},
		Ended: func() <-chan struct{} { return e.ended },
	}
	err := g.Run(ctx)
	e.stop()

	return err
}

func (e *env) start(ctx context.Context, out io.Writer) error {
	var err error
	if e.server, err = pgserver.Start(ctx); err != nil {
		return err
	}
	if e.cluster, err = devcluster.Start(ctx, devcluster.Options{Audit: true, Progress: out}); err != nil {
		return errors.Wrap(err, "cannot start an API server")
	}
	if err := e.install(ctx); err != nil {
		return err
	}
	access, err := e.cluster.UserConfig(ctx, provider.Name)
	if err != nil {
		return errors.Wrap(err, "cannot get access for the provider")
	}
	o := provider.DefaultOptions()
	o.PollInterval, o.HealthAddress, o.MetricsAddress = poll, "0", "0"
	o.Election.Enabled = false
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.provider, e.ended = cancel, make(chan struct{})
	go func() {
		defer close(e.ended)
		e.err = provider.Run(run, access, o)
	}()

	return nil
}

// install installs the kinds, the role and the configuration.
func (e *env) install(ctx context.Context) error {
	admin, err := e.cluster.RESTConfig()
	if err != nil {
		return errors.Wrap(err, "cannot get access to the API server")
	}
	dir, err := os.MkdirTemp("", "crds-")
	if err != nil {
		return errors.Wrap(err, "cannot make a folder")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, manifests.Files()); err != nil {
		return errors.Wrap(err, "cannot copy the kinds")
	}
	_, err = envtest.InstallCRDs(admin, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(dir, "crds")}, ErrorIfPathMissing: true,
	})
	if err != nil {
		return errors.Wrap(err, "cannot install the kinds")
	}
	scheme := runtime.NewScheme()
	all := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, kinds.AddToScheme)
	if err := all.AddToScheme(scheme); err != nil {
		return errors.Wrap(err, "cannot register the kinds")
	}
	if e.kube, err = client.New(admin, client.Options{Scheme: scheme}); err != nil {
		return errors.Wrap(err, "cannot make a client")
	}
	text, err := fs.ReadFile(manifests.Files(), "rbac/role.yaml")
	if err != nil {
		return errors.Wrap(err, "cannot read the role")
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(text, role); err != nil {
		return errors.Wrap(err, "cannot parse the role")
	}

	return e.create(ctx, role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: provider.Name}},
	}, &corev1.Secret{
		ObjectMeta: meta("postgres"),
		StringData: map[string]string{"username": pgserver.Provider, "password": pgserver.Password},
	}, &v1alpha1.ProviderConfig{
		ObjectMeta: meta("default"),
		Spec: v1alpha1.ProviderConfigSpec{
			Endpoint: v1alpha1.Endpoint{
				Host: pgserver.Host, Port: int32(e.server.Port),
				TLS: v1alpha1.TLS{Mode: v1alpha1.TLSVerify, CABundle: e.server.CA},
			},
			CredentialsSecretRef: v1alpha1.SecretReference{Name: "postgres"},
		},
	})
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}
}

func (e *env) create(ctx context.Context, all ...client.Object) error {
	for _, o := range all {
		if err := e.kube.Create(ctx, o); err != nil {
			return errors.Wrapf(err, "cannot create %s", o.GetName())
		}
	}

	return nil
}

func (e *env) stop() {
	if e.provider != nil {
		e.provider()
		<-e.ended
	}
	if e.cluster != nil {
		_ = e.cluster.Stop() // the demo is over, and its data are temporary
	}
	if e.server != nil {
		e.server.Close()
	}
}

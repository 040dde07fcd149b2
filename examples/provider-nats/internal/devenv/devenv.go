// Package devenv is everything that the provider needs, on one machine: a Kubernetes API server, a NATS
// server with JetStream, the kinds and the role installed, and the provider as a user with the permissions
// of that role only. Start with [Start].
//
// Each part can be used alone, so that a tour or a test can stop one and start it again.
package devenv

import (
	"context"
	stderrors "errors"
	"io"
	"os"
	"path/filepath"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	manifests "github.com/moorage-dev/moorage/examples/provider-nats/package"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Namespace is the namespace of the ProviderConfig of an Env.
const Namespace = metav1.NamespaceDefault

// Options configure an Env. The zero value keeps its data in temporary folders, until Stop.
type Options struct {
	// Dir keeps the data of both servers for a later Start.
	Dir string

	// NATSPort is the port of NATS on 127.0.0.1. Zero is any that is free.
	NATSPort int

	// NATSURL is the address of a server of NATS that runs already, for callers that stop and start it. None
	// is started then.
	NATSURL string

	// Unclaimed creates objects of the provider with a finalizer, by a policy.
	Unclaimed bool

	// Progress receives a line from time to time during a long start. Default: nil, which discards them.
	Progress io.Writer
}

// An Env is the running environment without the provider. Use Start.
type Env struct {
	// Cluster is the API server.
	Cluster *devcluster.Cluster

	// NATS is the server of NATS, if it was started here.
	NATS *NATS

	// Client has all permissions in the cluster, and knows all kinds that are in it.
	Client client.Client

	// ProviderKubeconfig is the path of a kubeconfig for the provider as a process of its own. It is in the
	// folder of the cluster.
	ProviderKubeconfig string
}

// Start starts both servers and installs the kinds, the role, and the ProviderConfig "default" in the
// namespace "default". Its caller calls Stop.
func Start(ctx context.Context, o Options) (*Env, error) {
	e := &Env{}

	if err := e.start(ctx, o); err != nil {
		return nil, stderrors.Join(err, e.Stop())
	}

	return e, nil
}

func (e *Env) start(ctx context.Context, o Options) error {
	var err error

	e.Cluster, err = devcluster.Start(ctx, devcluster.Options{
		Dir: folder(o.Dir, "cluster"), Own: true, Audit: true, Progress: o.Progress,
	})
	if err != nil {
		return errors.Wrap(err, "cannot start an API server")
	}

	// Temporary data are in the folder of the API server, which is removed with it even if this process is
	// killed.
	dir := o.Dir
	if dir == "" {
		dir = e.Cluster.Dir
	}

	url := o.NATSURL
	if url == "" {
		if e.NATS, err = StartNATS(folder(dir, "nats"), o.NATSPort); err != nil {
			return err
		}

		url = e.NATS.URL()
	}

	if e.Client, err = newClient(e.Cluster); err != nil {
		return err
	}

	if err := Install(ctx, e.Client); err != nil {
		return err
	}

	if o.Unclaimed {
		if err := e.installUnclaimed(ctx); err != nil {
			return err
		}
	}

	if err := e.configure(ctx, url); err != nil {
		return err
	}

	return e.writeKubeconfig(ctx)
}

// inForce is how long the API server may take to apply a policy, or a role.
const inForce = 3 * time.Minute

// installUnclaimed installs the policy, and returns when it is in force.
func (e *Env) installUnclaimed(ctx context.Context) error {
	if err := manifests.InstallUnclaimed(ctx, e.Client); err != nil {
		return err
	}

	var last error

	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, inForce, true, func(ctx context.Context) (bool, error) {
		probe := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "probe-"}}
		last = e.Client.Create(ctx, probe, client.DryRunAll)

		return last == nil && len(probe.GetFinalizers()) > 0, nil
	})

	if err == nil {
		return nil
	}

	return errors.Wrap(stderrors.Join(err, last), "the policy for unclaimed objects does not come into force")
}

func folder(dir, name string) string {
	if dir == "" {
		return ""
	}

	return filepath.Join(dir, name)
}

func newClient(cluster *devcluster.Cluster) (client.Client, error) {
	cfg, err := cluster.RESTConfig()
	if err != nil {
		return nil, errors.Wrap(err, "cannot get access to the API server")
	}

	scheme := runtime.NewScheme()

	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, errors.Wrap(err, "cannot register kinds")
		}
	}

	c, err := client.New(cfg, client.Options{Scheme: scheme})

	return c, errors.Wrap(err, "cannot create a client")
}

// Install installs the kinds and the generated role, binds the role to the user of the provider, and
// returns when the API server applies that.
func Install(ctx context.Context, c client.Client) error {
	if err := manifests.Install(ctx, c); err != nil {
		return err
	}

	if err := ignoreExists(c.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: provider.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: provider.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: provider.Name}},
	})); err != nil {
		return errors.Wrap(err, "cannot bind the role")
	}

	return errors.Wrap(awaitRole(ctx, c), "the role does not come into force")
}

// awaitRole waits until the provider may list its objects: the API server applies a role some time after it
// was stored.
func awaitRole(ctx context.Context, c client.Client) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, inForce, true, func(ctx context.Context) (bool, error) {
		may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               provider.Name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: v1alpha1.Group, Resource: "streams"},
		}}
		err := c.Create(ctx, may)

		return may.Status.Allowed, err
	})
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}

	return err
}

// configure points the default ProviderConfig to the NATS of this environment, whose port may have changed
// since the last time.
func (e *Env) configure(ctx context.Context, url string) error {
	pc := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: v1alpha1.DefaultProviderConfig,
	}}
	spec := v1alpha1.ProviderConfigSpec{
		Servers: []string{url}, Credentials: v1alpha1.Credentials{Source: v1alpha1.CredentialsNone},
	}

	err := e.Client.Get(ctx, client.ObjectKeyFromObject(pc), pc)
	pc.Spec = spec

	switch {
	case resource.IsNotFound(err):
		return errors.Wrap(e.Client.Create(ctx, pc), "cannot create a ProviderConfig")
	case err != nil:
		return errors.Wrap(err, "cannot read the ProviderConfig")
	default:
		return errors.Wrap(e.Client.Update(ctx, pc), "cannot update the ProviderConfig")
	}
}

func (e *Env) writeKubeconfig(ctx context.Context) error {
	image, err := e.Cluster.UserKubeconfig(ctx, provider.Name)
	if err != nil {
		return errors.Wrap(err, "cannot get credentials for the provider")
	}

	e.ProviderKubeconfig = filepath.Join(e.Cluster.Dir, provider.Name+".kubeconfig")

	return errors.Wrap(os.WriteFile(e.ProviderKubeconfig, image, 0o600), "cannot keep the provider's credentials")
}

// ProviderConfig returns the access to the cluster as the user of the provider.
func (e *Env) ProviderConfig(ctx context.Context) (*rest.Config, error) {
	cfg, err := e.Cluster.UserConfig(ctx, provider.Name)

	return cfg, errors.Wrap(err, "cannot get credentials for the provider")
}

// Stop stops both servers, and removes temporary data. Servers that did not start are skipped.
func (e *Env) Stop() error {
	var errs []error

	if e.NATS != nil {
		errs = append(errs, e.NATS.Stop())
	}

	if e.Cluster != nil {
		errs = append(errs, e.Cluster.Stop())
	}

	return errors.Wrap(stderrors.Join(errs...), "cannot stop all of the environment")
}

// Package connect returns the connection of an object to its PostgreSQL server, by its ProviderConfig. All objects
// with the same ProviderConfig share a pool. Its Secret is read once a minute. Start with [Setup].
//
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=providerconfigs;clusterproviderconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=providerconfigs/status;clusterproviderconfigs/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
package connect

import (
	"context"
	"flag"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// Options configure the connections. The zero value allows all hosts.
type Options struct {
	// AllowHosts are the hosts that a configuration may name, each with or without its port. Empty means all: every user
	// with permission to write a configuration can then probe the network of the cluster.
	AllowHosts []string

	// Credentials is the Secret to log in with. Without a name, each configuration names one.
	Credentials types.NamespacedName
}

// AddFlags adds the flag of the allowed hosts.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.Func("allow-hosts", "the hosts that configurations may name, separated by commas, each with its port or "+
		"without; empty means all",
		func(hosts string) error {
			o.AllowHosts = strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' })

			return nil
		})
}

// kinds returns the kinds of configurations.
func kinds() providerconfig.Kinds {
	return providerconfig.Kinds{Namespaced: &v1alpha1.ProviderConfig{}, Cluster: &v1alpha1.ClusterProviderConfig{}}
}

// Connections holds the connections, which objects share. Use Setup.
type Connections struct {
	kube   ctrlclient.Client     // reads from the cache
	live   ctrlclient.Reader     // reads from the API server: the role permits to get Secrets, not to list or watch them
	users  []providerconfig.User // an empty object of each kind
	hosts  []string              // the allowed ones; none means all
	login  types.NamespacedName  // the Secret to log in with; no name: that of each configuration
	limits *limit.Set
	cache  *connection.Cache[*postgres.Client]
}

// Setup returns the connections of a provider with these kinds. It adds controllers to the manager that keep a
// finalizer on each configuration while it is in use, and that show the state of its connection.
func Setup(m ctrl.Manager, all []resource.Managed, o Options, l logging.Logger) (*Connections, error) {
	var users []providerconfig.User
	for _, mg := range all {
		user, err := asUser(mg)
		if err != nil {
			return nil, err
		}
		users = append(users, user)
	}
	c := &Connections{
		kube: m.GetClient(), live: m.GetAPIReader(), users: users, hosts: o.AllowHosts, login: o.Credentials,
		limits: newLimits(), cache: connection.New((*postgres.Client).Close),
	}
	err := providerconfig.Setup(m, kinds(), users, providerconfig.WithLogger(l), providerconfig.WithLimits(c.limits))
	if err != nil {
		return nil, err
	}

	return c, errors.Wrap(m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		c.cache.Close()

		return nil
	})), "cannot close connections with the manager")
}

// newLimits returns the limits of the calls over one connection. A server answers in milliseconds, and a CREATE
// DATABASE copies a template, so the initial rate is moderate. To connect again is cheap: the first retry is after
// one second, and later ones are every five seconds at most.
func newLimits() *limit.Set {
	return limit.NewSet(limit.WithRate(100, 1, 1000), limit.WithBreaker(3, time.Second, 5*time.Second))
}

func asUser(mg resource.Managed) (providerconfig.User, error) {
	user, ok := mg.(providerconfig.User)
	if !ok {
		return nil, errors.Errorf("a %T does not refer to a ProviderConfig", mg)
	}

	return user, nil
}

// Options returns the options by which a controller uses the connections: its limits, and further watches. When a
// configuration becomes usable or changes, the objects that refer to it are reconciled.
func (c *Connections) Options(mg resource.Managed) ([]managed.ReconcilerOption, error) {
	user, err := asUser(mg)
	if err != nil {
		return nil, err
	}
	wake, err := providerconfig.EnqueueUsers(c.kube, kinds(), user)
	if err != nil {
		return nil, err
	}

	return []managed.ReconcilerOption{
		managed.WithLimits(c.limits),
		managed.WithWatch(&v1alpha1.ProviderConfig{}, wake),
		managed.WithWatch(&v1alpha1.ClusterProviderConfig{}, wake),
	}, nil
}

// Secret returns the Secret that an object names for its connection details, or nil if it does not exist. It may belong
// to another object, see metav1.IsControlledBy.
func (c *Connections) Secret(ctx context.Context, mg resource.Managed, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: mg.GetNamespace(), Name: name}
	err := credentials.ReadError(c.live.Get(ctx, key, secret), name)
	if connection.IsMissing(err) {
		return nil, nil
	}

	return secret, errors.Wrapf(err, "cannot read the Secret %q of spec.writeConnectionSecretToRef", name)
}

// A Link is a connection in use. A client that embeds it shows the reconciler which connection and which server it
// uses, and releases the connection at the end of the pass.
type Link struct {
	*postgres.Session

	// Connection describes the connection.
	Connection managed.Connection

	// Done ends the use. It may be nil.
	Done func()
}

// DescribeConnection returns the connection, so that rejected credentials are read again at once.
func (l *Link) DescribeConnection() managed.Connection { return l.Connection }

// Disconnect releases the connection.
func (l *Link) Disconnect(context.Context) error {
	if l.Done != nil {
		l.Done()
	}

	return nil
}

// Link returns a connection for an object. Its errors describe the fix for the user. If the Secret does not exist any
// more, an object that is being deleted gets the last valid connection: when a namespace is deleted, its Secret may be
// removed before the object.
func (c *Connections) Link(ctx context.Context, mg resource.Managed) (*Link, error) {
	config, err := c.configuration(ctx, mg)
	if err != nil {
		return nil, err
	}
	spec := settings(config)
	if c.login.Name != "" {
		spec.CredentialsSecretRef.Namespace, spec.CredentialsSecretRef.Name = c.login.Namespace, c.login.Name
	}
	version, err := connection.Version(spec) // not the generation, which a deletion also increments
	if err != nil {
		return nil, err
	}
	// The key is the UID, not the name: a new configuration with the same name has another connection.
	key := string(config.GetUID())
	lease, err := c.cache.Acquire(ctx, key, version, c.resolver(config, spec, version),
		connection.ForDeletion(meta.WasDeleted(mg)))
	if err != nil {
		return nil, explain(err, config, mg)
	}
	server := lease.Value()
	external.Conceal(ctx, []byte(server.Config().Password))
	link := &Link{Done: lease.Release, Connection: managed.Connection{
		Name:     name(config),
		Revision: server.Config().Revision,
		Recheck:  func() { c.cache.Recheck(key) },
	}}
	link.Session, err = server.Session(ctx)
	if err != nil {
		lease.Release()
		if external.IsUnauthorized(err) { // there is no client yet that could describe the connection
			c.cache.Recheck(key)
		}

		return nil, err
	}

	return link, nil
}

// resolver returns the resolver of a configuration.
func (c *Connections) resolver(
	config providerconfig.Config, spec v1alpha1.ClusterProviderConfigSpec, version string,
) connection.Resolver[*postgres.Client] {
	return func(ctx context.Context) (string, func(context.Context) (*postgres.Client, error), error) {
		user, password, revision, err := c.credentials(ctx, spec.CredentialsSecretRef)
		if connection.IsMissing(err) {
			err = connection.Missing(err, c.needed(config))
		}
		if err != nil {
			return "", nil, err
		}

		return version + "," + revision, func(context.Context) (*postgres.Client, error) {
			return postgres.Open(postgres.Config{
				Host: spec.Host, Port: uint16(spec.Port), Database: spec.Database,
				User: user, Password: password,
				Plaintext: spec.TLS.Mode == v1alpha1.TLSDisable, CA: spec.TLS.CABundle,
				AllowedHosts: c.hosts, Revision: version + "," + revision,
			})
		}, nil
	}
}

// explain adds the fix to an error. In a namespace that is being deleted, a Secret cannot be created again.
func explain(err error, config providerconfig.Config, mg resource.Managed) error {
	err = errors.Wrapf(err, "cannot connect with the configuration %q", config.GetName())
	if !connection.IsMissing(err) || !meta.WasDeleted(mg) || config.GetNamespace() == "" {
		return err
	}

	return errors.Wrapf(err, "create the Secret again; if its namespace is being deleted, name a ClusterProviderConfig "+
		"in spec.providerConfigRef, or, to keep the external resource, set the annotation %s to %q",
		meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan)
}

// needed returns a function that reports whether an object that is being deleted uses a configuration. If it cannot
// determine that, it reports true.
func (c *Connections) needed(config providerconfig.Config) func(context.Context) bool {
	return func(ctx context.Context) bool {
		needed, err := providerconfig.UsedForDeletion(ctx, c.kube, kinds(), c.users, config)

		return needed || err != nil
	}
}

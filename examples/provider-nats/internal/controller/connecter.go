package controller

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ProviderConfigKinds returns the kinds of configurations.
func ProviderConfigKinds() providerconfig.Kinds {
	return providerconfig.Kinds{Namespaced: &v1alpha1.ProviderConfig{}, Cluster: &v1alpha1.ClusterProviderConfig{}}
}

// Connections are the connections of all ProviderConfigs and ClusterProviderConfigs, shared by all objects
// and kinds. Use NewConnections.
type Connections struct {
	kube  client.Client
	live  client.Reader
	cache *connection.Cache[*natsconn.Conn]

	credentials types.NamespacedName // the Secret to log in with; no name: that of each configuration

	secrets Follower // nil: changes of Secrets are not notified
}

// A Follower notifies of changed Secrets, as a credentials.Follower does.
type Follower interface {
	Follow(secret types.NamespacedName, version string, changed func()) (stop func())
}

// Follow lets f notify of changes of the Secrets that connections were made from. The next Acquire reads a
// changed Secret again. Follow must be called before Acquire.
func (c *Connections) Follow(f Follower) { c.secrets = f }

// NewConnections returns an empty set of connections. Configurations, and the objects that use them, are
// read through kube, which should have a cache; Secrets through live, which must have none: the provider
// may get them, but neither list nor watch them.
func NewConnections(kube client.Client, live client.Reader, o ...connection.Option) *Connections {
	return &Connections{kube: kube, live: live, cache: connection.New((*natsconn.Conn).Close, o...)}
}

// A Link is a connection that is in use. Its user calls Release at the end.
type Link struct {
	JetStream

	// Connection describes it to the runtime.
	Connection managed.Connection

	// Release ends the use.
	Release func()
}

// Acquire returns the connection that an object names. Its errors say what a user has to correct, and are
// marked if no object is the cause, see package external. An object that is being deleted gets the last
// good connection if the Secret is gone: the deletion of a namespace removes the Secret first.
func (c *Connections) Acquire(ctx context.Context, mg resource.Managed) (*Link, error) {
	pc, err := c.configuration(ctx, mg)
	if err != nil {
		return nil, err
	}

	kind, cfg, spec, err := settings(pc)
	if err != nil {
		return nil, err
	}

	if c.credentials.Name != "" {
		cfg = cfg.WithCredentials(c.credentials)
	}

	version, err := connection.Version(spec)
	if err != nil {
		return nil, err
	}

	id := kind + "/" + string(pc.GetUID())

	lease, err := c.cache.Acquire(ctx, id, version, c.resolver(pc, cfg, id, version),
		connection.ForDeletion(meta.WasDeleted(mg)))
	if err != nil {
		return nil, explain(err, kind, pc, mg)
	}

	conn := lease.Value()

	return &Link{
		JetStream: conn,
		Connection: managed.Connection{
			Name:     name(kind, pc),
			Revision: revision(version, conn.Revision()),
			Recheck:  func() { c.cache.Recheck(id) },
		},
		Release: lease.Release,
	}, nil
}

// explain says why there is no connection. In a namespace that is being deleted, a Secret cannot be created
// any more.
func explain(err error, kind string, pc providerconfig.Config, mg resource.Managed) error {
	wrapped := errors.Wrapf(err, "cannot connect as %s %q says", kind, pc.GetName())
	if !connection.IsMissing(err) || !meta.WasDeleted(mg) || pc.GetNamespace() == "" {
		return wrapped
	}

	return errors.Wrapf(wrapped,
		"create the Secret again; if its namespace is being deleted, name a %s in spec.providerConfigRef, "+
			"or, if what is in NATS may stay, set the annotation %s to %q",
		v1alpha1.ClusterProviderConfigKind, meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan)
}

// needed reports whether an object that is being deleted uses a configuration. If that cannot be
// determined, one may.
func (c *Connections) needed(pc providerconfig.Config) func(context.Context) bool {
	return func(ctx context.Context) bool {
		needed, err := providerconfig.UsedForDeletion(ctx, c.kube, ProviderConfigKinds(), users(), pc)

		return needed || err != nil
	}
}

// name returns the name by which the condition Connected of a configuration is found.
func name(kind string, pc providerconfig.Config) string {
	parts := []string{kind, pc.GetNamespace(), pc.GetName()}

	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}

// revision identifies the contents of a configuration and its Secrets.
func revision(version, secrets string) string { return version + "," + secrets }

// configuration returns the configuration that the object names. An object and its configuration are often
// created together, and it is no mistake that the object is seen first: a configuration that the cache does
// not have is read from the API server. One that does not exist wakes the object when it is created or
// changed.
func (c *Connections) configuration(ctx context.Context, mg resource.Managed) (providerconfig.Config, error) {
	pc, err := providerconfig.Get(ctx, c.kube, mg, ProviderConfigKinds())
	if !providerconfig.IsMissing(err) {
		return pc, err
	}

	pc, err = providerconfig.Get(ctx, fresh{c.kube, c.live}, mg, ProviderConfigKinds())
	if providerconfig.IsMissing(err) {
		return nil, errors.Wrap(err, "create the configuration, or name another in spec.providerConfigRef")
	}

	return pc, err
}

// fresh reads without a cache.
type fresh struct {
	providerconfig.Reader
	live client.Reader
}

func (f fresh) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	return f.live.Get(ctx, key, obj, o...)
}

func settings(pc providerconfig.Config) (kind string, cfg natsconn.Config, spec any, err error) {
	switch pc := pc.(type) {
	case *v1alpha1.ProviderConfig:
		return v1alpha1.ProviderConfigKind, natsconn.FromProviderConfig(pc), &pc.Spec, nil
	case *v1alpha1.ClusterProviderConfig:
		return v1alpha1.ClusterProviderConfigKind, natsconn.FromClusterProviderConfig(pc), &pc.Spec, nil
	default:
		return "", natsconn.Config{}, nil, errors.Errorf("a %T does not say how to connect", pc)
	}
}

// resolver reads the Secrets of a configuration and returns how to build the connection from them. When
// NATS refuses them later, they are read again.
func (c *Connections) resolver(
	pc providerconfig.Config, cfg natsconn.Config, id, version string,
) connection.Resolver[*natsconn.Conn] {
	read := func(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
		secret := &corev1.Secret{}

		return secret, c.live.Get(ctx, name, secret)
	}

	return func(ctx context.Context) (string, func(context.Context) (*natsconn.Conn, error), error) {
		settings, err := natsconn.Resolve(ctx, cfg, read)
		if connection.IsMissing(err) {
			err = connection.Missing(err, c.needed(pc))
		}

		if err != nil {
			return "", nil, err
		}

		return revision(version, settings.Revision), func(ctx context.Context) (*natsconn.Conn, error) {
			recheck := func() { c.cache.Recheck(id) }

			conn, err := natsconn.Dial(ctx, settings, recheck)
			if err != nil || c.secrets == nil {
				return conn, err
			}

			for secret, version := range settings.Secrets {
				conn.AtEnd(c.secrets.Follow(secret, version, recheck))
			}

			return conn, nil
		}, nil
	}
}

// Close closes all connections; those in use are closed when they are released.
func (c *Connections) Close() { c.cache.Close() }

// An Acquirer returns the connection that an object names.
type Acquirer interface {
	Acquire(ctx context.Context, mg resource.Managed) (*Link, error)
}

// A Connecter connects objects of one kind. Use NewConnecter.
type Connecter struct {
	connections Acquirer
	kind        Kind
	cluster     types.UID
}

// NewConnecter returns a Connecter for the kind in the cluster with that UID,
// see managed.ClusterUID.
func NewConnecter(connections Acquirer, kind Kind, cluster types.UID) *Connecter {
	return &Connecter{connections: connections, kind: kind, cluster: cluster}
}

// Connect returns a Client for the object. It is an error if the identity of the JetStream cannot be
// determined: another JetStream than that of the resource would report it as missing.
func (c *Connecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	link, err := c.connections.Acquire(ctx, mg)
	if err != nil {
		return nil, err
	}

	identity, err := link.Identity(ctx)
	if err != nil {
		link.Release()

		return nil, err
	}

	client := NewClient(link, c.kind, managed.NewStamp(c.cluster, c.kind.GroupVersionKind().GroupKind(), mg))
	client.identity = identity

	return client, nil
}

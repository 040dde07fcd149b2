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

// ProviderConfigKinds returns the kinds that say how to connect.
func ProviderConfigKinds() providerconfig.Kinds {
	return providerconfig.Kinds{Namespaced: &v1alpha1.ProviderConfig{}, Cluster: &v1alpha1.ClusterProviderConfig{}}
}

// Connections are the connections of all ProviderConfigs and
// ClusterProviderConfigs, shared by all objects and kinds. Use NewConnections.
type Connections struct {
	kube  client.Client
	live  client.Reader
	cache *connection.Cache[*natsconn.Conn]

	secrets Follower // nil: nobody tells
}

// A Follower tells when Secrets change, as a credentials.Follower does.
type Follower interface {
	Follow(secret types.NamespacedName, version string, changed func()) (stop func())
}

// Follow lets f tell when a Secret changes that a connection was made from, which is
// then read again by the next who acquires it. It must be called before Acquire.
func (c *Connections) Follow(f Follower) { c.secrets = f }

// NewConnections returns an empty set of connections. Configurations, and the objects
// that use them, are read through kube, which should have a cache; Secrets through live, which must have
// none: the provider may get them, but neither list nor watch.
func NewConnections(kube client.Client, live client.Reader, o ...connection.Option) *Connections {
	return &Connections{kube: kube, live: live, cache: connection.New((*natsconn.Conn).Close, o...)}
}

// A Link is a connection that is in use. Whoever has one calls Release when he needs
// it no longer.
type Link struct {
	JetStream

	// Connection is what the runtime knows it by.
	Connection managed.Connection

	// Release gives it back.
	Release func()
}

// Acquire returns the connection that an object names. Its errors say what a user has
// to correct, and are marked if they are the fault of no object, see package external.
// An object that is being deleted is given the last good connection where the Secret is
// gone: a namespace that is deleted takes it first.
func (c *Connections) Acquire(ctx context.Context, mg resource.Managed) (*Link, error) {
	pc, err := c.configuration(ctx, mg)
	if err != nil {
		return nil, err
	}

	kind, cfg, spec, err := settings(pc)
	if err != nil {
		return nil, err
	}

	version, err := connection.Version(spec)
	if err != nil {
		return nil, err
	}

	id := kind + "/" + string(pc.GetUID())

	lease, err := c.cache.Acquire(ctx, id, version, c.resolver(pc, cfg, id, version), connection.ForDeletion(meta.WasDeleted(mg)))
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

// explain says why there is no connection. Where a namespace is deleted, nobody can create
// a Secret any more.
func explain(err error, kind string, pc providerconfig.Config, mg resource.Managed) error {
	wrapped := errors.Wrapf(err, "cannot connect as %s %q says", kind, pc.GetName())
	if !connection.IsMissing(err) || !meta.WasDeleted(mg) || pc.GetNamespace() == "" {
		return wrapped
	}

	return errors.Wrapf(wrapped, "create the Secret again; if its namespace is being deleted, name a %s in spec.providerConfigRef, "+
		"or, if what is in NATS may stay, set the annotation %s to %q",
		v1alpha1.ClusterProviderConfigKind, meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan)
}

// needed tells whether what is being deleted uses a configuration. Where nobody can tell, it
// may.
func (c *Connections) needed(pc providerconfig.Config) func(context.Context) bool {
	return func(ctx context.Context) bool {
		needed, err := providerconfig.UsedForDeletion(ctx, c.kube, ProviderConfigKinds(), users(), pc)

		return needed || err != nil
	}
}

// name returns by what the condition Connected of a configuration is found.
func name(kind string, pc providerconfig.Config) string {
	parts := []string{kind, pc.GetNamespace(), pc.GetName()}

	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}

// revision tells apart what a configuration and its Secrets have led to.
func revision(version, secrets string) string { return version + "," + secrets }

// configuration returns what the object names. An object and its configuration are
// often created together, and it is no mistake that the object is seen first: what
// the cache does not know is asked for once more, from the API server. What is not
// there wakes the object when it comes, as does a change.
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

// resolver reads the Secrets of a configuration and says how to build the
// connection from them. When NATS refuses them later, they are read again.
func (c *Connections) resolver(pc providerconfig.Config, cfg natsconn.Config, id, version string) connection.Resolver[*natsconn.Conn] {
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

// Close closes all connections, those in use when they are given back.
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

// Connect returns a Client for the object. It is an error if nobody can tell which
// JetStream the connection leads to: another one than that in which the resource is
// would not have it.
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

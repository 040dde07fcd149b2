package controller

import (
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
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
	kube  providerconfig.Reader
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

// NewConnections returns an empty set of connections. Configurations are read
// through kube, which should have a cache; Secrets through live, which must have
// none: the provider may get them, but neither list nor watch.
func NewConnections(kube providerconfig.Reader, live client.Reader, o ...connection.Option) *Connections {
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
func (c *Connections) Acquire(ctx context.Context, mg resource.Managed) (*Link, error) {
	pc, err := c.configuration(ctx, mg)
	if err != nil {
		return nil, err
	}

	kind, cfg, err := settings(pc)
	if err != nil {
		return nil, err
	}

	id, version := kind+"/"+string(pc.GetUID()), strconv.FormatInt(pc.GetGeneration(), 10)

	lease, err := c.cache.Acquire(ctx, id, version, c.resolver(cfg, id, version))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot connect as %s %q says", kind, pc.GetName())
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

func settings(pc providerconfig.Config) (kind string, cfg natsconn.Config, err error) {
	switch pc := pc.(type) {
	case *v1alpha1.ProviderConfig:
		return v1alpha1.ProviderConfigKind, natsconn.FromProviderConfig(pc), nil
	case *v1alpha1.ClusterProviderConfig:
		return v1alpha1.ClusterProviderConfigKind, natsconn.FromClusterProviderConfig(pc), nil
	default:
		return "", natsconn.Config{}, errors.Errorf("a %T does not say how to connect", pc)
	}
}

// resolver reads the Secrets of a configuration and says how to build the
// connection from them. When NATS refuses them later, they are read again.
func (c *Connections) resolver(cfg natsconn.Config, id, version string) connection.Resolver[*natsconn.Conn] {
	read := func(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
		secret := &corev1.Secret{}

		return secret, c.live.Get(ctx, name, secret)
	}

	return func(ctx context.Context) (string, func(context.Context) (*natsconn.Conn, error), error) {
		settings, err := natsconn.Resolve(ctx, cfg, read)
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

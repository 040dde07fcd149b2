package controller

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Connections are the connections of all ProviderConfigs, shared by all objects
// and kinds. Use NewConnections.
type Connections struct {
	kube  client.Reader
	live  client.Reader
	cache *connection.Cache[*natsconn.Conn]
}

// NewConnections returns an empty set of connections. ProviderConfigs are read
// through kube, which should have a cache; Secrets through live, which must have
// none: the provider may get them, but neither list nor watch.
func NewConnections(kube, live client.Reader, o ...connection.Option) *Connections {
	return &Connections{kube: kube, live: live, cache: connection.New((*natsconn.Conn).Close, o...)}
}

// Acquire returns the connection of a ProviderConfig and what gives it back. Its
// errors say what a user has to correct.
func (c *Connections) Acquire(ctx context.Context, key client.ObjectKey) (Streams, func(), error) {
	pc := &v1alpha1.ProviderConfig{}

	err := c.kube.Get(ctx, key, pc)

	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, errors.Errorf("there is no ProviderConfig %q in the namespace %q: create it, or name another in spec.providerConfigRef",
			key.Name, key.Namespace)
	case err != nil:
		return nil, nil, errors.Wrapf(err, "cannot read ProviderConfig %q", key.Name)
	}

	id, version := string(pc.GetUID()), strconv.FormatInt(pc.GetGeneration(), 10)

	lease, err := c.cache.Acquire(ctx, id, version, c.resolver(pc, id, version))
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot connect as ProviderConfig %q says", key.Name)
	}

	return lease.Value(), lease.Release, nil
}

// resolver reads the Secrets of a ProviderConfig and says how to build the
// connection from them. When NATS refuses them later, they are read again.
func (c *Connections) resolver(pc *v1alpha1.ProviderConfig, id, version string) connection.Resolver[*natsconn.Conn] {
	read := func(ctx context.Context, name string) (*corev1.Secret, error) {
		secret := &corev1.Secret{}

		return secret, c.live.Get(ctx, client.ObjectKey{Namespace: pc.GetNamespace(), Name: name}, secret)
	}

	return func(ctx context.Context) (string, func(context.Context) (*natsconn.Conn, error), error) {
		settings, err := natsconn.Resolve(ctx, pc, read)
		if err != nil {
			return "", nil, err
		}

		return version + "," + settings.Revision, func(ctx context.Context) (*natsconn.Conn, error) {
			return natsconn.Dial(ctx, settings, func() { c.cache.Recheck(id) })
		}, nil
	}
}

// Close closes all connections, those in use when they are given back.
func (c *Connections) Close() { c.cache.Close() }

// An Acquirer returns the connection of a ProviderConfig and what gives it back.
type Acquirer interface {
	Acquire(ctx context.Context, providerConfig client.ObjectKey) (Streams, func(), error)
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

// Connect returns a Client for the object.
func (c *Connecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	referencer, ok := mg.(interface{ ProviderConfigName() string })
	if !ok {
		return nil, errOtherKind(mg)
	}

	name := referencer.ProviderConfigName()
	if name == "" {
		name = v1alpha1.DefaultProviderConfig
	}

	conn, release, err := c.connections.Acquire(ctx, client.ObjectKey{Namespace: mg.GetNamespace(), Name: name})
	if err != nil {
		return nil, err
	}

	stamp := managed.NewStamp(c.cluster, c.kind.GroupVersionKind().GroupKind(), mg)

	return NewClient(conn, c.kind, stamp, release), nil
}

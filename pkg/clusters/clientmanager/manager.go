// Package clientmanager reports to controllers when the client of a cluster has changed, for
// clusters whose objects have the time of their connection. It has the names that existing
// controllers use.
//
// Start with NewClientManager. A reconciler reads the Cluster of its object, calls Refresh,
// stops what uses the old client if Refresh returns true, and gets the client when it needs
// one. Package clusters has the same rules with revisions instead of times, and with
// contexts, leases and reasons: new code uses that.
package clientmanager

import (
	"context"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clientmanagertest"
)

// Errors to branch on. Existing controllers use these names.
var (
	// NotFoundError: there is no client for the cluster.
	NotFoundError = clusters.ErrNotFound

	// StaleClientError: the Cluster as it was read is older or newer than the client, or
	// Refresh was not called since the client changed.
	StaleClientError = clusters.ErrStale
)

// A KeyableObject has a name and a namespace.
type KeyableObject interface {
	GetName() string
	GetNamespace() string
}

// A ConnectedCluster is an object with the time at which its client was made. If it also
// has a UID (GetUID), an object with the same name and another UID is another cluster.
type ConnectedCluster interface {
	KeyableObject

	// GetConnectedAt returns that time, or nil if there is no client.
	GetConnectedAt() *metav1.MicroTime
}

// A ClientProvider provides the clients. Both must be safe for concurrent use.
type ClientProvider[C any] interface {
	// GetK8sClient returns the client of a cluster and the time at which it was made. The
	// error is NotFoundError for an unknown cluster, and another one for a known cluster
	// without a client, or with one of another type.
	GetK8sClient(clusterKey types.NamespacedName) (C, metav1.MicroTime, error)
}

// A ClientManager tracks which client each object was given. Make one with
// NewClientManager; its methods may be called concurrently.
type ClientManager[C any] struct {
	manager *clusters.Manager[C]
}

// NewClientManager returns a manager of the provider's clients.
//
// An object is identified by its namespace, name and Go type, so that objects of two types may
// share a manager and a name. A pointer and a value have the same type. Metadata alone
// (*metav1.ObjectMeta) stands for the object of that name, of any type, if exactly one such
// object was given clients. Otherwise the type must be the same in each call: a client given
// to a *Pod is not refreshed with an *unstructured.Unstructured.
//
// If the provider ends leases, as a clusters.Cache does, Refresh also reports a client that
// was replaced at the same time because its API server was restored.
func NewClientManager[C any](clientProvider ClientProvider[C]) *ClientManager[C] {
	if l, ok := clientProvider.(leaser[C]); ok {
		return &ClientManager[C]{
			manager: clusters.NewManager[C](leaseProvider[C]{provider[C]{clientProvider}, l}, clusters.WithoutIdleUsers()),
		}
	}

	return &ClientManager[C]{manager: clusters.NewManager[C](provider[C]{clientProvider}, clusters.WithoutIdleUsers())}
}

// GetK8sClient returns the client of the cluster for the object. The error is
// NotFoundError if the cluster is nil or unknown, and StaleClientError if the time of the
// client differs from that of the cluster or of the client that the object was given
// before. Other errors of the provider are returned unchanged.
func (m *ClientManager[C]) GetK8sClient(obj KeyableObject, cluster ConnectedCluster) (C, error) {
	var none C
	if isNil(cluster) {
		return none, NotFoundError
	}
	lease, err := m.manager.Get(context.Background(), m.user(obj), ref(cluster))
	if err != nil {
		return none, err
	}
	defer lease.Release()

	return lease.Client, nil
}

// Refresh reports whether the object has to stop what uses the client that it was given: once
// for each change. For an object without a client it returns false.
//
// A nil cluster, also a nil pointer of some type or a wrapper around one, is a cluster that is
// gone. It does not identify the cluster: for an object with clients of several clusters,
// Refresh returns false, and the object keeps them all. Call RefreshGone for such an object.
func (m *ClientManager[C]) Refresh(obj KeyableObject, cluster ConnectedCluster) bool {
	if isNil(cluster) {
		return m.refreshNil(obj)
	}
	change, _ := m.manager.Refresh(context.Background(), m.user(obj), ref(cluster))

	return change != clusters.Unchanged
}

// RefreshGone is Refresh for a cluster with that key that does not exist: it reports,
// once, whether the object has to stop what uses a client of it.
func (m *ClientManager[C]) RefreshGone(obj KeyableObject, clusterKey types.NamespacedName) bool {
	return m.manager.LoseCluster(m.user(obj), clusterKey)
}

// refreshNil refreshes the only cluster of which the object was given a client.
func (m *ClientManager[C]) refreshNil(obj KeyableObject) bool {
	built := m.manager.Built(m.user(obj))
	if len(built) != 1 {
		return false
	}
	gone := false
	for key := range built {
		gone = m.RefreshGone(obj, key)
	}

	return gone
}

// Revisions returns, by cluster, when the clients were made that the object was given:
// those that GetK8sClient returns to it without an error until Refresh reports a change.
// It is for tests and debugging.
func (m *ClientManager[C]) Revisions(obj KeyableObject) map[types.NamespacedName]metav1.MicroTime {
	out := map[types.NamespacedName]metav1.MicroTime{}
	for key, rev := range m.manager.Built(m.user(obj)) {
		out[key] = timeOf(rev)
	}

	return out
}

// Forget removes an object that is gone. An object that was created again under its name
// has no client. An object without a client need not be removed.
func (m *ClientManager[C]) Forget(obj KeyableObject) { m.manager.Forget(m.user(obj)) }

// ForgetCluster removes a cluster that is gone.
func (m *ClientManager[C]) ForgetCluster(key types.NamespacedName) { m.manager.ForgetCluster(key) }

// ref returns the reference of a cluster.
func ref(cluster ConnectedCluster) clusters.Ref {
	r := clusters.Ref{
		Key:      types.NamespacedName{Namespace: cluster.GetNamespace(), Name: cluster.GetName()},
		Revision: revision(metav1.MicroTime{}),
	}
	if at := cluster.GetConnectedAt(); at != nil {
		r.Revision = revision(*at)
	}
	r.UID = uid(cluster)

	return r
}

// uid returns the UID of a cluster, if it has one.
func uid(cluster KeyableObject) types.UID {
	if c, ok := cluster.(connectedAt); ok {
		cluster = c.KeyableObject
	}
	if o, ok := cluster.(interface{ GetUID() types.UID }); ok {
		return o.GetUID()
	}

	return ""
}

// revision returns the revision of a time with the precision of the API server, a
// microsecond. The zero time has a revision, too.
func revision(at metav1.MicroTime) clusters.Revision {
	return clusters.Revision(strconv.FormatInt(at.Truncate(time.Microsecond).UnixMicro(), 10))
}

// timeOf returns the time of a revision.
func timeOf(r clusters.Revision) metav1.MicroTime {
	us, err := strconv.ParseInt(string(r), 10, 64)
	if err != nil {
		return metav1.MicroTime{}
	}

	return metav1.NewMicroTime(time.UnixMicro(us))
}

// provider implements clusters.Provider with a ClientProvider.
type provider[C any] struct{ from ClientProvider[C] }

// Get returns the client, and a revision made of its time.
func (p provider[C]) Get(_ context.Context, key clusters.Key) (C, clusters.Revision, error) {
	c, at, err := p.from.GetK8sClient(key)

	return c, revision(at), err
}

// A leaser is a ClientProvider that tracks the users of its clients.
type leaser[C any] interface {
	clusters.Acquirer[C]
	Known(key clusters.Key) (clusters.Input, bool)
}

// leaseProvider implements clusters.Acquirer with a leaser.
type leaseProvider[C any] struct {
	provider[C]

	from leaser[C]
}

// Acquire returns a lease whose revision is the time of its client.
func (l leaseProvider[C]) Acquire(ctx context.Context, key clusters.Key) (clusters.Lease[C], error) {
	lease, err := l.from.Acquire(ctx, key)
	if err != nil {
		return lease, err
	}
	in, known := l.from.Known(key)
	if !known || in.Revision != lease.Revision {
		lease.Release()

		return clusters.Lease[C]{}, clusters.ErrStale
	}
	lease.Revision = revision(in.ConnectedAt)

	return lease, nil
}

// FakeClientProvider is that of package clientmanagertest.
type FakeClientProvider[C any] = clientmanagertest.FakeClientProvider[C]

// NewFakeClientProvider is that of package clientmanagertest.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	return clientmanagertest.NewFakeClientProvider(defaultClient)
}

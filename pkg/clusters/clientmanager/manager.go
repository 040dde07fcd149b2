// Package clientmanager reports to controllers when the client of a cluster has changed. It is for clusters whose
// objects have the time of their connection. It has the names that existing controllers use.
//
// Start with NewClientManager. A reconciler reads the Cluster of its object and calls Refresh. If Refresh returns true,
// the reconciler stops everything that uses the old client. It calls GetK8sClient when it needs the client. New code
// uses package clusters, which has the same rules with revisions instead of times, and with contexts, leases and
// reasons.
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

	// StaleClientError: the Cluster that the caller has read is older or newer than the client, or Refresh was not called
	// after the client changed.
	StaleClientError = clusters.ErrStale
)

// A KeyableObject has a name and a namespace.
type KeyableObject interface {
	GetName() string
	GetNamespace() string
}

// A ConnectedCluster is the object of a cluster, and has the time at which the client of the cluster was made. If the
// object also has a UID (method GetUID), objects with the same name and different UIDs are different clusters.
type ConnectedCluster interface {
	KeyableObject

	// GetConnectedAt returns the time at which the client was made, or nil if there is no client.
	GetConnectedAt() *metav1.MicroTime
}

// A ClientProvider returns the clients of clusters. The provider and the clients must be safe for concurrent use.
type ClientProvider[C any] interface {
	// GetK8sClient returns the client of a cluster and the time at which the client was made. For an unknown cluster it
	// returns NotFoundError. If a known cluster has no client, or a client of another type, it returns another error.
	GetK8sClient(clusterKey types.NamespacedName) (C, metav1.MicroTime, error)
}

// A ClientManager tracks which client each object uses. Make one with NewClientManager. Its methods may be called
// concurrently.
type ClientManager[C any] struct {
	manager *clusters.Manager[C]
}

// NewClientManager returns a manager of the provider's clients.
//
// An object is identified by its namespace, name and Go type, so that objects of two types may share a manager and a
// name. A pointer and a value have the same type. Otherwise the type must be the same in each call: a client that was
// returned for a *Pod is not refreshed with an *unstructured.Unstructured. There is one exception: *metav1.ObjectMeta
// identifies the object of any type that has its name, if exactly one such object has got clients.
//
// If the provider ends leases, as a clusters.Cache does, Refresh also reports a client that was replaced because its
// API server was restored, although its connection time is unchanged.
func NewClientManager[C any](clientProvider ClientProvider[C]) *ClientManager[C] {
	if l, ok := clientProvider.(leaser[C]); ok {
		return &ClientManager[C]{
			manager: clusters.NewManager[C](leaseProvider[C]{provider[C]{clientProvider}, l}, clusters.WithoutIdleUsers()),
		}
	}

	return &ClientManager[C]{manager: clusters.NewManager[C](provider[C]{clientProvider}, clusters.WithoutIdleUsers())}
}

// GetK8sClient returns the client of a cluster for an object. If the cluster is nil or unknown, the error is
// NotFoundError. The error is StaleClientError if the time of the client differs from the connection time of the
// argument cluster. It is also StaleClientError if the time differs from the time of the client that the object got
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

// Refresh reports, once for each change, whether the client of the object has changed. If it returns true, the object
// has to stop everything that uses the old client. For an object without a client it returns false.
//
// If the cluster is nil, Refresh assumes that the only cluster of the object is gone. A nil pointer in the interface,
// and a wrapper around a nil pointer, count as nil. If the object has clients of several clusters, a nil cluster does
// not identify one of them. Refresh then returns false, and the object keeps all its clients. Call RefreshGone for such
// an object.
func (m *ClientManager[C]) Refresh(obj KeyableObject, cluster ConnectedCluster) bool {
	if isNil(cluster) {
		return m.refreshNil(obj)
	}
	change, _ := m.manager.Refresh(context.Background(), m.user(obj), ref(cluster))

	return change != clusters.Unchanged
}

// RefreshGone is like Refresh, but for a cluster that does not exist any more. It reports, once, whether the object has
// to stop everything that uses a client of this cluster.
func (m *ClientManager[C]) RefreshGone(obj KeyableObject, clusterKey types.NamespacedName) bool {
	return m.manager.LoseCluster(m.user(obj), clusterKey)
}

// refreshNil refreshes the only cluster of which the object has a client.
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

// Revisions returns the times at which the object's clients were made, by cluster. It leaves out clients that Refresh
// has reported as changed. It is for tests and debugging.
func (m *ClientManager[C]) Revisions(obj KeyableObject) map[types.NamespacedName]metav1.MicroTime {
	out := map[types.NamespacedName]metav1.MicroTime{}
	for key, rev := range m.manager.Built(m.user(obj)) {
		out[key] = timeOf(rev)
	}

	return out
}

// Forget removes an object that does not exist any more. If an object with the same name is created later, it has no
// client. Objects without a client need not be removed.
func (m *ClientManager[C]) Forget(obj KeyableObject) { m.manager.Forget(m.user(obj)) }

// ForgetCluster removes a cluster that does not exist any more.
func (m *ClientManager[C]) ForgetCluster(key types.NamespacedName) { m.manager.ForgetCluster(key) }

// ref returns the Ref of a cluster.
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

// revision returns the revision for a time. It has the precision of the API server, which is a microsecond. The zero
// time has a revision, too.
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

// Get returns the client of a cluster, and a revision that is computed from its time.
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

// Acquire returns a lease whose revision is computed from the time of its client.
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

// FakeClientProvider is clientmanagertest.FakeClientProvider.
type FakeClientProvider[C any] = clientmanagertest.FakeClientProvider[C]

// NewFakeClientProvider calls clientmanagertest.NewFakeClientProvider.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	return clientmanagertest.NewFakeClientProvider(defaultClient)
}

// Package clientmanager tells controllers when the client of a cluster has changed,
// for clusters whose objects say when they were connected to, and with the names that
// such controllers were written for.
//
// Begin with NewClientManager. A reconciler fetches the Cluster that its object names,
// calls Refresh, throws away what it built if that says so, and gets the client when it
// needs one. Package clusters has the same rules with revisions in place of times, with
// contexts, leases and reasons: new code starts there.
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

// Errors to branch on. The names are those that controllers were written for.
var (
	// NotFoundError says that there is no client for the cluster.
	NotFoundError = clusters.ErrNotFound

	// StaleClientError says that the Cluster, as it was read, is older or newer than
	// the client, or that Refresh was not called since the client changed.
	StaleClientError = clusters.ErrStale
)

// A KeyableObject has a name and a namespace.
type KeyableObject interface {
	GetName() string
	GetNamespace() string
}

// A ConnectedCluster is an object that says when its client was made. If it also has a
// UID (GetUID), another one of the same name is another cluster.
type ConnectedCluster interface {
	KeyableObject

	// GetConnectedAt returns that time, or nil if there is no client.
	GetConnectedAt() *metav1.MicroTime
}

// A ClientProvider has the clients. They must be safe for concurrent use, and so must
// be the provider.
type ClientProvider[C any] interface {
	// GetK8sClient returns the client of a cluster and when it was made. The error is
	// NotFoundError for a cluster that it does not know, and says what is wrong with
	// one that is known and has no client, or one of another kind.
	GetK8sClient(clusterKey types.NamespacedName) (C, metav1.MicroTime, error)
}

// A ClientManager remembers which client each object was given. Make one with
// NewClientManager; its methods may be called concurrently.
type ClientManager[C any] struct {
	manager *clusters.Manager[C]
}

// NewClientManager returns a manager of the provider's clients.
//
// An object is known by its namespace, name and Go type, so that objects of two types may
// share a manager and a name. A pointer and a value are of one type. Metadata alone
// (*metav1.ObjectMeta) stands for the object of that name, of whatever type, if the manager
// has given clients to one such object. Otherwise the types have to be the same in each
// call: what was given to a *Pod is not refreshed by an *unstructured.Unstructured.
//
// A provider that ends leases by itself, as a clusters.Cache does, tells more than times:
// that a client was made anew at the same time, because its API server was restored.
func NewClientManager[C any](clientProvider ClientProvider[C]) *ClientManager[C] {
	if l, ok := clientProvider.(lender[C]); ok {
		return &ClientManager[C]{manager: clusters.NewManager[C](lending[C]{provider[C]{clientProvider}, l}, clusters.WithoutIdleUsers())}
	}

	return &ClientManager[C]{manager: clusters.NewManager[C](provider[C]{clientProvider}, clusters.WithoutIdleUsers())}
}

// GetK8sClient returns the client of the cluster for the object. The error is
// NotFoundError if the cluster is nil or unknown, StaleClientError if the client is
// another one than the cluster says, or than the object was given before, and otherwise
// what the provider said.
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

// Refresh reports whether the object has to throw away what it built with the client
// that it was given: once for each change. An object that was given none is told
// false.
//
// A cluster that is nil, also a nil pointer of some type or a wrapper around one, is one that is gone. It does not
// tell which: an object that was given clients of several clusters is told false and keeps
// them all. Call RefreshGone for such an object.
func (m *ClientManager[C]) Refresh(obj KeyableObject, cluster ConnectedCluster) bool {
	if isNil(cluster) {
		return m.refreshNil(obj)
	}
	change, _ := m.manager.Refresh(context.Background(), m.user(obj), ref(cluster))

	return change != clusters.Unchanged
}

// RefreshGone is Refresh for a cluster of that key that does not exist: it reports, once,
// whether the object has to throw away what it built with a client of it.
func (m *ClientManager[C]) RefreshGone(obj KeyableObject, clusterKey types.NamespacedName) bool {
	return m.manager.LoseCluster(m.user(obj), clusterKey)
}

// refreshNil takes the cluster for the only one that the object was given a client of.
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

// Revisions returns when the clients were made that the object was given, by cluster: those
// that GetK8sClient returns to it without an error until Refresh says that they have
// changed. It is for tests and for those who look for a mistake.
func (m *ClientManager[C]) Revisions(obj KeyableObject) map[types.NamespacedName]metav1.MicroTime {
	out := map[types.NamespacedName]metav1.MicroTime{}
	for key, rev := range m.manager.Built(m.user(obj)) {
		out[key] = timeOf(rev)
	}

	return out
}

// Forget drops an object that is gone. One that is made anew under its name starts
// from nothing. An object that was given no client need not be dropped.
func (m *ClientManager[C]) Forget(obj KeyableObject) { m.manager.Forget(m.user(obj)) }

// ForgetCluster drops a cluster that is gone.
func (m *ClientManager[C]) ForgetCluster(key types.NamespacedName) { m.manager.ForgetCluster(key) }

func ref(cluster ConnectedCluster) clusters.Ref {
	r := clusters.Ref{Key: types.NamespacedName{Namespace: cluster.GetNamespace(), Name: cluster.GetName()}, Revision: revision(metav1.MicroTime{})}
	if at := cluster.GetConnectedAt(); at != nil {
		r.Revision = revision(*at)
	}
	r.UID = uid(cluster)

	return r
}

// uid returns that of a cluster, if it has one.
func uid(cluster KeyableObject) types.UID {
	if c, ok := cluster.(connectedAt); ok {
		cluster = c.KeyableObject
	}
	if o, ok := cluster.(interface{ GetUID() types.UID }); ok {
		return o.GetUID()
	}

	return ""
}

// revision compares as the API server stores times: to the microsecond. No time is a
// time, too.
func revision(at metav1.MicroTime) clusters.Revision {
	return clusters.Revision(strconv.FormatInt(at.Truncate(time.Microsecond).UnixMicro(), 10))
}

// timeOf is the reverse of revision, which makes all of them.
func timeOf(r clusters.Revision) metav1.MicroTime {
	us, err := strconv.ParseInt(string(r), 10, 64)
	if err != nil {
		return metav1.MicroTime{}
	}

	return metav1.NewMicroTime(time.UnixMicro(us))
}

type provider[C any] struct{ from ClientProvider[C] }

// Get asks for the client, and makes a revision of its time.
func (p provider[C]) Get(_ context.Context, key clusters.Key) (C, clusters.Revision, error) {
	c, at, err := p.from.GetK8sClient(key)

	return c, revision(at), err
}

// A lender knows who uses its clients, and since when there are which.
type lender[C any] interface {
	clusters.Acquirer[C]
	Known(key clusters.Key) (clusters.Input, bool)
}

type lending[C any] struct {
	provider[C]

	from lender[C]
}

// Acquire returns a lease whose revision is the time of its client.
func (l lending[C]) Acquire(ctx context.Context, key clusters.Key) (clusters.Lease[C], error) {
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

// FakeClientProvider is the one of clientmanagertest.
type FakeClientProvider[C any] = clientmanagertest.FakeClientProvider[C]

// NewFakeClientProvider is the one of clientmanagertest.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	return clientmanagertest.NewFakeClientProvider(defaultClient)
}

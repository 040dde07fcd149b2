// Package remote is for managed resources whose external resources are in other clusters. Each object names a Cluster.
// Each pass acquires a lease on the connection to this cluster.
//
// Start with NewConnector, and pass the result to managed.WithTypedExternalConnector. When the credentials of a cluster
// are rotated, calls in progress may complete on the old connection. No new call starts on it, and the next pass gets
// the new connection.
package remote

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/connect"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Connector is a managed.TypedExternalConnector whose external system is another cluster. Make one with NewConnector.
// It may be used concurrently.
type Connector[T resource.Managed] struct {
	manager *clusters.Manager[*clusters.Cluster]
	kind    string
	find    func(ctx context.Context, mg T) (clusters.Ref, error)
	client  func(c *clusters.Cluster, mg T) managed.TypedExternalClient[T]
}

// NewConnector returns a connector for objects of a kind. The argument kind is any name that distinguishes these
// objects from other users of the manager. The function find returns the Ref of the object's cluster as it was just
// read: see ByName. The function client is called in each pass, and its result is not used after the pass.
func NewConnector[T resource.Managed](m *clusters.Manager[*clusters.Cluster], kind string, find func(
	ctx context.Context, mg T,
) (clusters.Ref, error),
	client func(c *clusters.Cluster, mg T) managed.TypedExternalClient[T],
) *Connector[T] {
	return &Connector[T]{manager: m, kind: kind, find: find, client: client}
}

// ByName returns a function that reads the Cluster of an object. The argument name is a function that returns the name
// of this Cluster. The reader is usually the client of a manager, which reads from a cache.
func ByName[T resource.Managed](
	r client.Reader, name func(mg T) client.ObjectKey,
) func(context.Context, T) (clusters.Ref, error) {
	return func(ctx context.Context, mg T) (clusters.Ref, error) {
		c := &clustersv1alpha1.Cluster{}
		if err := r.Get(ctx, name(mg), c); err != nil {
			return clusters.Ref{}, errors.Wrap(err, "cannot get the Cluster")
		}

		return connect.Ref(c), nil
	}
}

// user returns the user for an object.
func (c *Connector[T]) user(mg T) clusters.User {
	return clusters.User{Kind: c.kind, Key: client.ObjectKeyFromObject(mg)}
}

// Connect acquires a lease on the connection to the object's cluster. While a connection is being replaced, Connect
// returns clusters.ErrStale, and the next attempt gets the new connection.
func (c *Connector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	ref, err := c.find(ctx, mg)
	if err != nil {
		return nil, err
	}
	// No state is kept between passes, so the change is irrelevant.
	if _, err := c.manager.Refresh(ctx, c.user(mg), ref); err != nil {
		return nil, errors.Wrapf(err, "cannot connect to cluster %s", ref.Key)
	}
	lease, err := c.manager.Get(ctx, c.user(mg), ref)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot connect to cluster %s", ref.Key)
	}

	l := &leasedClient[T]{connector: c, lease: lease, user: c.user(mg), client: c.client(lease.Client, mg)}
	if r, ok := unwrap.As[managed.TypedCreationRecoverer[T]](l.client); ok {
		return &recoveringClient[T]{l, r}, nil
	}

	return l, nil
}

// EnqueueUsers returns a handler of Clusters for managed.WithWatch. When the connection to a Cluster was made, replaced
// or lost, the handler enqueues the objects that use this Cluster.
func (c *Connector[T]) EnqueueUsers() handler.EventHandler {
	enqueue := func(cluster client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, u := range c.manager.Users(client.ObjectKeyFromObject(cluster)) {
			if u.Kind == c.kind {
				q.Add(reconcile.Request{NamespacedName: u.Key})
			}
		}
	}

	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, ok := e.ObjectOld.(*clustersv1alpha1.Cluster)
			now, both := e.ObjectNew.(*clustersv1alpha1.Cluster)
			if ok && both && (before.Status.Revision != now.Status.Revision || before.UID != now.UID) {
				enqueue(now, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, q)
		},
	}
}

// ForgetDeleted returns a handler of the managed kind for managed.WithWatch. The manager counts each object that uses a
// cluster as a user of the cluster. When an object is deleted, the handler removes it from the users. Objects whose
// policy orphans their external resource need the handler, because the Connector does not see their deletion.
func (c *Connector[T]) ForgetDeleted() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			c.manager.Forget(clusters.User{Kind: c.kind, Key: client.ObjectKeyFromObject(e.Object)})
		},
	}
}

// A leasedClient is a client whose lease is released at the end of the pass.
type leasedClient[T resource.Managed] struct {
	connector *Connector[T]
	lease     clusters.Lease[*clusters.Cluster]
	user      clusters.User
	client    managed.TypedExternalClient[T]
	deleted   bool // the external resource of an object that is being deleted
}

// checkLease returns an error if the connection was replaced, because no call may start on a replaced connection.
func (l *leasedClient[T]) checkLease() error {
	if l.lease.Context.Err() == nil {
		return nil
	}

	return errors.Wrap(context.Cause(l.lease.Context), "cannot use the connection any more")
}

// Observe observes the external resource.
func (l *leasedClient[T]) Observe(ctx context.Context, mg T) (managed.ExternalObservation, error) {
	if err := l.checkLease(); err != nil {
		return managed.ExternalObservation{}, err
	}
	o, err := l.client.Observe(ctx, mg)
	l.deleted = err == nil && !o.ResourceExists && !mg.GetDeletionTimestamp().IsZero()

	return o, err
}

// Create creates the external resource.
func (l *leasedClient[T]) Create(ctx context.Context, mg T) error {
	if err := l.checkLease(); err != nil {
		return external.NotCreated(err)
	}

	return l.client.Create(ctx, mg)
}

// Update updates the external resource.
func (l *leasedClient[T]) Update(ctx context.Context, mg T) error {
	if err := l.checkLease(); err != nil {
		return err
	}

	return l.client.Update(ctx, mg)
}

// Delete deletes the external resource.
func (l *leasedClient[T]) Delete(ctx context.Context, mg T) error {
	if err := l.checkLease(); err != nil {
		return err
	}

	return l.client.Delete(ctx, mg)
}

// Disconnect releases the lease. If the external resource of a deleted object is gone, it also removes the object from
// the users of the cluster.
func (l *leasedClient[T]) Disconnect(ctx context.Context) error {
	defer l.lease.Release()
	if l.deleted {
		l.connector.manager.Forget(l.user)
	}
	if d, ok := unwrap.As[managed.ExternalDisconnecter](l.client); ok {
		return d.Disconnect(ctx)
	}

	return nil
}

// Unwrap returns the wrapped client, so that callers find its optional interfaces.
func (l *leasedClient[T]) Unwrap() any { return l.client }

// A recoveringClient is a leased client that implements CreationRecoverer.
type recoveringClient[T resource.Managed] struct {
	*leasedClient[T]

	client managed.TypedCreationRecoverer[T]
}

// RecoverCreation searches for the external resource that an earlier attempt with the token may have created.
func (r *recoveringClient[T]) RecoverCreation(ctx context.Context, mg T, token string) (bool, error) {
	if err := r.checkLease(); err != nil {
		return false, err
	}

	return r.client.RecoverCreation(ctx, mg, token)
}

// RecoveryWindow returns the recovery window of the wrapped client.
func (r *recoveringClient[T]) RecoveryWindow() time.Duration { return r.client.RecoveryWindow() }

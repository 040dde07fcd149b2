// Package remote lets managed resources have their external resources in other
// clusters: each object names a Cluster, a pass takes a lease on the connection to it, and
// gives it back in the end.
//
// Begin with NewConnector, and give it to a reconciler by
// managed.WithTypedExternalConnector. When the credentials of a cluster are rotated,
// calls under way may complete on the old connection, none begins on it, and the next
// pass has the new one.
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

// A Connector is a managed.TypedExternalConnector whose external system is another
// cluster. Make one with NewConnector; it may be used concurrently.
type Connector[T resource.Managed] struct {
	manager *clusters.Manager[*clusters.Cluster]
	kind    string
	find    func(ctx context.Context, mg T) (clusters.Ref, error)
	client  func(c *clusters.Cluster, mg T) managed.TypedExternalClient[T]
}

// NewConnector returns a connector for objects of a kind, which is a word that tells them
// from the other users of the manager. Find says which cluster an object is in, as it was
// read just now: see ByName. The client is made anew for each pass, and must not be used
// after it.
func NewConnector[T resource.Managed](m *clusters.Manager[*clusters.Cluster], kind string, find func(ctx context.Context, mg T) (clusters.Ref, error),
	client func(c *clusters.Cluster, mg T) managed.TypedExternalClient[T],
) *Connector[T] {
	return &Connector[T]{manager: m, kind: kind, find: find, client: client}
}

// ByName finds a Cluster by its name, with the reader of a manager, which answers from its
// cache.
func ByName[T resource.Managed](r client.Reader, name func(mg T) client.ObjectKey) func(context.Context, T) (clusters.Ref, error) {
	return func(ctx context.Context, mg T) (clusters.Ref, error) {
		c := &clustersv1alpha1.Cluster{}
		if err := r.Get(ctx, name(mg), c); err != nil {
			return clusters.Ref{}, errors.Wrap(err, "cannot get the Cluster")
		}

		return connect.Ref(c), nil
	}
}

func (c *Connector[T]) user(mg T) clusters.User {
	return clusters.User{Kind: c.kind, Key: client.ObjectKeyFromObject(mg)}
}

// Connect takes a lease on the connection to the object's cluster. It fails with
// clusters.ErrStale while a connection is being replaced: the next try has the new one.
func (c *Connector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	ref, err := c.find(ctx, mg)
	if err != nil {
		return nil, err
	}
	// Nothing is kept from one pass to the next, so whatever has changed is all right.
	if _, err := c.manager.Refresh(ctx, c.user(mg), ref); err != nil {
		return nil, errors.Wrapf(err, "cannot connect to cluster %s", ref.Key)
	}
	lease, err := c.manager.Get(ctx, c.user(mg), ref)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot connect to cluster %s", ref.Key)
	}

	l := &leased[T]{connector: c, lease: lease, user: c.user(mg), client: c.client(lease.Client, mg)}
	if r, ok := unwrap.As[managed.TypedCreationRecoverer[T]](l.client); ok {
		return &recovering[T]{l, r}, nil
	}

	return l, nil
}

// EnqueueUsers returns a handler for managed.WithWatch and Clusters: it lets the objects be
// looked at that have asked for a cluster when that has a connection, another one, or none
// any more.
func (c *Connector[T]) EnqueueUsers() handler.EventHandler {
	wake := func(cluster client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, u := range c.manager.Users(client.ObjectKeyFromObject(cluster)) {
			if u.Kind == c.kind {
				q.Add(reconcile.Request{NamespacedName: u.Key})
			}
		}
	}

	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, ok := e.ObjectOld.(*clustersv1alpha1.Cluster)
			now, both := e.ObjectNew.(*clustersv1alpha1.Cluster)
			if ok && both && (before.Status.Revision != now.Status.Revision || before.UID != now.UID) {
				wake(now, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(e.Object, q)
		},
	}
}

// ForgetDeleted returns a handler for managed.WithWatch and the managed kind itself: it
// forgets objects that are gone and have left their external resource behind, as their
// policy said. Without it the manager counts them among the users of the cluster still.
func (c *Connector[T]) ForgetDeleted() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			c.manager.Forget(clusters.User{Kind: c.kind, Key: client.ObjectKeyFromObject(e.Object)})
		},
	}
}

// Leased is a client whose connection is given back at the end of the pass.
type leased[T resource.Managed] struct {
	connector *Connector[T]
	lease     clusters.Lease[*clusters.Cluster]
	user      clusters.User
	client    managed.TypedExternalClient[T]
	gone      bool // the external resource of an object that is being deleted
}

// valid returns an error if the connection was replaced: no call may begin on it.
func (l *leased[T]) valid() error {
	if l.lease.Context.Err() == nil {
		return nil
	}

	return errors.Wrap(context.Cause(l.lease.Context), "cannot use the connection any more")
}

// Observe looks at the external resource.
func (l *leased[T]) Observe(ctx context.Context, mg T) (managed.ExternalObservation, error) {
	if err := l.valid(); err != nil {
		return managed.ExternalObservation{}, err
	}
	o, err := l.client.Observe(ctx, mg)
	l.gone = err == nil && !o.ResourceExists && !mg.GetDeletionTimestamp().IsZero()

	return o, err
}

// Create creates the external resource.
func (l *leased[T]) Create(ctx context.Context, mg T) error {
	if err := l.valid(); err != nil {
		return external.NotCreated(err)
	}

	return l.client.Create(ctx, mg)
}

// Update changes the external resource.
func (l *leased[T]) Update(ctx context.Context, mg T) error {
	if err := l.valid(); err != nil {
		return err
	}

	return l.client.Update(ctx, mg)
}

// Delete removes the external resource.
func (l *leased[T]) Delete(ctx context.Context, mg T) error {
	if err := l.valid(); err != nil {
		return err
	}

	return l.client.Delete(ctx, mg)
}

// Disconnect gives the lease back, and forgets an object whose resource is gone.
func (l *leased[T]) Disconnect(ctx context.Context) error {
	defer l.lease.Release()
	if l.gone {
		l.connector.manager.Forget(l.user)
	}
	if d, ok := unwrap.As[managed.ExternalDisconnecter](l.client); ok {
		return d.Disconnect(ctx)
	}

	return nil
}

// Unwrap returns the client itself, for what it can do besides.
func (l *leased[T]) Unwrap() any { return l.client }

// Recovering is a leased client that can look up what was created.
type recovering[T resource.Managed] struct {
	*leased[T]

	client managed.TypedCreationRecoverer[T]
}

// RecoverCreation looks for what an attempt created.
func (r *recovering[T]) RecoverCreation(ctx context.Context, mg T, token string) (bool, error) {
	if err := r.valid(); err != nil {
		return false, err
	}

	return r.client.RecoverCreation(ctx, mg, token)
}

// RecoveryWindow returns the window of the client.
func (r *recovering[T]) RecoveryWindow() time.Duration { return r.client.RecoveryWindow() }

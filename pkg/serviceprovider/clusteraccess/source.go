package clusteraccess

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/clusters"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// AccessSources returns sources that requeue an object when its access requests, or the Secrets of these requests, have
// changed. The sources also requeue an object when the API server of its cluster was restored to an earlier state. The
// sources read requests from the cache of the platform cluster, so add the platform cluster to the manager. After the
// call of AccessSources, the provider itself also reads requests from this cache.
func (r *Requester) AccessSources() []source.Source {
	whole := r.platform.Cluster()
	sources := []source.Source{source.Func(func(ctx context.Context, q queue) error {
		go r.watchSecrets(ctx, q)
		context.AfterFunc(ctx, r.cache.Listen(func(key clusters.Key) { r.enqueueRestored(q, key) }))
		if whole == nil {
			return nil
		}

		return r.startFollower(ctx, whole)
	})}
	if whole == nil {
		return sources
	}
	r.mu.Lock()
	r.cachedReader = whole.GetCache()
	r.mu.Unlock()
	mine := predicate.NewPredicateFuncs(r.ownedByController)
	owner := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{objectOf(o)}
	})
	waiting := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return r.waitingObjects(client.ObjectKeyFromObject(o))
	})

	return append(sources,
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.AccessRequest{}), owner, mine, versionChanged()),
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.ClusterRequest{}), owner, mine, versionChanged()),
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.ClusterRequest{}), waiting, versionChanged()),
	)
}

// ownedByController reports whether a request belongs to this controller, under its current or a
// former name.
func (r *Requester) ownedByController(o client.Object) bool {
	return slices.ContainsFunc(append([]string{r.controller}, r.former...), func(name string) bool {
		return strings.EqualFold(o.GetLabels()[LabelManagedBy], bounded(name))
	})
}

// versionChanged returns a predicate that drops updates without a change, such as those of a resync.
func versionChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

// waitingObjects returns the objects that wait for an existing ClusterRequest.
func (r *Requester) waitingObjects(key client.ObjectKey) []reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests := make([]reconcile.Request, 0, len(r.waiting[key]))
	for request := range r.waiting[key] {
		requests = append(requests, request)
	}

	return requests
}

// watchSecrets reads the Secrets of all grants periodically, and reads stale Secrets at once. It requeues the objects
// whose connection was replaced.
func (r *Requester) watchSecrets(ctx context.Context, q queue) {
	tick := time.NewTicker(r.recheck)
	defer tick.Stop()
	for {
		var grants map[clusters.Key]*grant
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			grants = r.allGrants()
		case <-r.secrets.wake:
			grants = r.takeStale()
		}
		for key := range grants {
			r.recheckGrant(ctx, q, key)
		}
	}
}

// recheckGrant reads the Secret of a grant, if the grant still exists after the lock was acquired.
func (r *Requester) recheckGrant(ctx context.Context, q queue, key clusters.Key) {
	unlock, err := r.lockSecret(ctx, key)
	if err != nil {
		return
	}
	defer unlock()
	r.mu.Lock()
	g := r.grants[key]
	r.mu.Unlock()
	if g == nil {
		return
	}
	again := *g
	replaced, err := r.load(ctx, key, &again, g)
	switch {
	case gone.Answered(err, again.secret.Name):
		// Access was revoked. The next pass of the object handles that.
		r.dropGrant(key)
		q.Add(g.request)
	case err != nil && ctx.Err() == nil:
		r.logger.Info(msgCredentialsUnavailable, "accessRequest", key.String(), "error", r.redact(key, err))
	case replaced:
		q.Add(g.request)
	}
}

// enqueueRestored requeues the object whose connection was replaced because the API server of its cluster was restored.
// What was created in the cluster after the restored state is lost.
func (r *Requester) enqueueRestored(q queue, key clusters.Key) {
	if r.cache.Restored(key) == nil {
		return
	}
	if g := r.allGrants()[key]; g != nil {
		q.Add(g.request)
	}
}

// allGrants returns a copy of the map of grants. A grant in the map is never modified.
func (r *Requester) allGrants() map[clusters.Key]*grant {
	r.mu.Lock()
	defer r.mu.Unlock()

	return maps.Clone(r.grants)
}

// dropGrant removes a grant and its connection.
func (r *Requester) dropGrant(key clusters.Key) {
	r.mu.Lock()
	delete(r.grants, key)
	r.unfollow(key)
	r.mu.Unlock()
	r.cache.Drop(key)
}

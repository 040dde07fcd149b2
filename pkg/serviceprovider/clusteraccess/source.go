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

// AccessSources lead to objects whose requests have changed, from the cache of the
// platform cluster, which has to be added to the manager, to those whose Secrets have, and to
// those of which a cluster was restored to an earlier state. From then on requests are read from that cache.
func (r *Requester) AccessSources() []source.Source {
	whole := r.platform.Cluster()
	sources := []source.Source{source.Func(func(ctx context.Context, q queue) error {
		go r.watchSecrets(ctx, q)
		context.AfterFunc(ctx, r.cache.Listen(func(key clusters.Key) { r.restored(q, key) }))
		if whole == nil {
			return nil
		}

		return r.watch(ctx, whole)
	})}
	if whole == nil {
		return sources
	}
	r.mu.Lock()
	r.cached = whole.GetCache()
	r.mu.Unlock()
	mine := predicate.NewPredicateFuncs(r.mine)
	owner := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{objectOf(o)}
	})
	waiting := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return r.waitingFor(client.ObjectKeyFromObject(o))
	})

	return append(sources,
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.AccessRequest{}), owner, mine, changed()),
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.ClusterRequest{}), owner, mine, changed()),
		source.Kind(whole.GetCache(), client.Object(&clustersv1alpha1.ClusterRequest{}), waiting, changed()),
	)
}

// mine reports whether a request was made by this controller, by whatever name.
func (r *Requester) mine(o client.Object) bool {
	return slices.ContainsFunc(append([]string{r.controller}, r.former...), func(name string) bool {
		return strings.EqualFold(o.GetLabels()[LabelManagedBy], bounded(name))
	})
}

// Changed lets pass what is no mere resync.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

func (r *Requester) waitingFor(key client.ObjectKey) []reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests := make([]reconcile.Request, 0, len(r.waiting[key]))
	for request := range r.waiting[key] {
		requests = append(requests, request)
	}

	return requests
}

// WatchSecrets reads the Secrets of all grants from time to time, and those that are in
// doubt at once, and enqueues the objects whose connection was replaced.
func (r *Requester) watchSecrets(ctx context.Context, q queue) {
	tick := time.NewTicker(r.recheck)
	defer tick.Stop()
	for {
		var grants map[clusters.Key]*grant
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			grants = r.known()
		case <-r.wake:
			grants = r.doubts()
		}
		for key := range grants {
			r.review(ctx, q, key)
		}
	}
}

// Review reads the Secret of a grant, if that is still there when it is its turn.
func (r *Requester) review(ctx context.Context, q queue, key clusters.Key) {
	over, err := r.turn(ctx, key)
	if err != nil {
		return
	}
	defer over()
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
		// Access was withdrawn. The object finds out what that means for it.
		r.lose(key)
		q.Add(g.request)
	case err != nil && ctx.Err() == nil:
		r.logger.Info(goingOn, "accessRequest", key.String(), "error", r.redact(key, err))
	case replaced:
		q.Add(g.request)
	}
}

// Restored enqueues the object whose connection was replaced because the API server of its
// cluster was restored: what was brought there since is gone.
func (r *Requester) restored(q queue, key clusters.Key) {
	if r.cache.Restored(key) == nil {
		return
	}
	if g := r.known()[key]; g != nil {
		q.Add(g.request)
	}
}

// Known returns all grants. They are not changed once they are known.
func (r *Requester) known() map[clusters.Key]*grant {
	r.mu.Lock()
	defer r.mu.Unlock()

	return maps.Clone(r.grants)
}

// Lose forgets a grant that is none any more.
func (r *Requester) lose(key clusters.Key) {
	r.mu.Lock()
	delete(r.grants, key)
	r.leave(key)
	r.mu.Unlock()
	r.cache.Drop(key)
}

package connect

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
)

// find returns a Cluster and what is known of it, or nil if it is gone or goes. The cache
// answers, unless it has lagged behind for too long: then the API server does, and its answer
// counts. An API server that was restored to an older state gives out versions that are lower
// than those that we know, which a cache may never reach.
func (r *reconciler) find(ctx context.Context, name types.NamespacedName) (*clustersv1alpha1.Cluster, *record, error) {
	c, err := get(ctx, r.client, name)
	if c == nil {
		return nil, nil, err
	}
	known := r.memory.Of(name, c.GetUID())
	if !known.NeedsLiveRead() {
		return c, known, nil
	}
	if c, err = get(ctx, r.live, name); c == nil {
		return nil, nil, err
	}
	if known = r.memory.Of(name, c.GetUID()); known.IsStale(c.GetResourceVersion()) {
		r.o.logger.Info("The API server was restored to an older state: what it has now counts", "cluster", name.String(),
			"version", c.GetResourceVersion(), "known", known.Version)
		known.hangUp()
		*known = record{}
	}

	return c, known, nil
}

// get returns nil if there is no such Cluster, or if it is being deleted.
func get(ctx context.Context, from client.Reader, name types.NamespacedName) (*clustersv1alpha1.Cluster, error) {
	c := &clustersv1alpha1.Cluster{}
	if err := from.Get(ctx, name, c); err != nil {
		return nil, gone.Ignore(err, name.Name)
	}
	if !c.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}

	return c, nil
}

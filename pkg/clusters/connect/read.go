package connect

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
)

const (
	// Lagging is when to look again while the cache lags behind our own write.
	lagging = time.Second

	// Patience is how many passes wait for the cache to catch up. Then the API server is asked.
	patience = 3
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
	if known.lag < patience {
		return c, known, nil
	}
	if c, err = get(ctx, r.live, name); c == nil {
		return nil, nil, err
	}
	if known = r.memory.Of(name, c.GetUID()); known.ahead(c.GetResourceVersion()) {
		r.o.logger.Info("The API server was restored to an older state: what it has now counts", "cluster", name.String(),
			"version", c.GetResourceVersion(), "known", known.version)
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

// ahead reports whether our last write is newer than a version that was read.
func (r *record) ahead(version string) bool {
	if r.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, r.version)

	return err == nil && order < 0
}

// lags notes a pass that could do nothing: what the cache shows is older than our last write,
// or a write of it conflicts. Passes within a second of each other are one, so that events that
// come by the hundred do not have the API server asked while the cache takes its time.
func (r *record) lags(now time.Time) {
	if since := now.Sub(r.lagged); r.lag > 0 && since >= 0 && since < lagging {
		return
	}
	r.lag, r.lagged = r.lag+1, now
}

package connect

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
)

// read returns a Cluster and its record. It returns nil if the Cluster does not exist or is being deleted. It reads
// from the cache, or from the API server if the cache was stale for several passes.
//
// If the API server returns an older version than the last write of this process, the API server was restored from a
// backup. read then discards the record.
func (r *reconciler) read(ctx context.Context, name types.NamespacedName) (*clustersv1alpha1.Cluster, *record, error) {
	c, err := get(ctx, r.client, name)
	if c == nil {
		return nil, nil, err
	}
	known := r.records.Of(name, c.GetUID())
	if !known.NeedsLiveRead() {
		return c, known, nil
	}
	if c, err = get(ctx, r.apiReader, name); c == nil {
		return nil, nil, err
	}
	if known = r.records.Of(name, c.GetUID()); known.IsStale(c.GetResourceVersion()) {
		r.options.logger.Info("The API server was restored to an older state: discarding the known version",
			"cluster", name.String(),
			"version", c.GetResourceVersion(), "known", known.Version)
		known.closeIdleConnections()
		*known = record{}
	}

	return c, known, nil
}

// get returns a Cluster. It returns nil if the Cluster does not exist or is being deleted.
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

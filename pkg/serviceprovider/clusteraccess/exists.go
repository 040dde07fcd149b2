package clusteraccess

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// checkClusterExists returns an error if the cluster of an AccessRequest does not exist. Without permission to get
// clusters it assumes that the cluster exists. If access is granted and has not expired, it assumes the same after
// other errors of the platform.
func (r *Requester) checkClusterExists(ctx context.Context, ar clusters.Key, cluster client.ObjectKey) error {
	if r.inCache(ctx, cluster) {
		return nil
	}
	err := r.platform.Client().Get(ctx, cluster, &clustersv1alpha1.Cluster{})
	switch {
	case err == nil || kerrors.IsForbidden(err):
		return nil
	case gone.Answered(err, cluster.Name):
		return errors.Wrapf(serviceprovider.ErrClusterGone, "Cluster %s", cluster)
	case r.hasValidGrant(ar) && ctx.Err() == nil:
		r.logger.Info(
			"Cannot get a cluster, using the granted access", "cluster", cluster.String(), "error", r.redact(ar, err))

		return nil
	default:
		return errors.Wrap(err, "cannot get the Cluster")
	}
}

// hasValidGrant reports whether access was granted and has not expired.
func (r *Requester) hasValidGrant(ar clusters.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.grants[ar]

	return g != nil && g.invalid == nil && !r.expired(g)
}

// inCache reports whether the cache contains a cluster. A new cluster may be missing in the cache.
func (r *Requester) inCache(ctx context.Context, cluster client.ObjectKey) bool {
	r.mu.Lock()
	cached := r.cachedReader
	r.mu.Unlock()
	if cached == nil || !r.canListClusters(ctx) {
		return false
	}
	i, err := cached.GetInformer(ctx, &clustersv1alpha1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil || !i.HasSynced() {
		return false
	}

	return cached.Get(ctx, cluster, &clustersv1alpha1.Cluster{}) == nil
}

// canListClusters reports whether the role may list clusters. It checks this only once, because a cache would retry a
// forbidden list forever.
func (r *Requester) canListClusters(ctx context.Context) bool {
	r.mu.Lock()
	may := r.listAllowed
	r.mu.Unlock()
	if may != nil {
		return *may
	}
	err := r.platform.Client().List(ctx, &clustersv1alpha1.ClusterList{}, client.Limit(1))
	if err != nil && !kerrors.IsForbidden(err) {
		return false // the answer is unknown and is requested again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listAllowed = new(err == nil)

	return err == nil
}

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

// Exists returns an error if the cluster that an AccessRequest is for does not. Who may
// not look at it believes that it does; and so does, while the platform does not answer,
// or not about the cluster, who has a grant that is still good.
func (r *Requester) exists(ctx context.Context, ar clusters.Key, cluster client.ObjectKey) error {
	if r.shown(ctx, cluster) {
		return nil
	}
	err := r.platform.Client().Get(ctx, cluster, &clustersv1alpha1.Cluster{})
	switch {
	case err == nil || kerrors.IsForbidden(err):
		return nil
	case gone.Answered(err, cluster.Name):
		return errors.Wrapf(serviceprovider.ErrClusterGone, "Cluster %s", cluster)
	case r.holds(ar) && ctx.Err() == nil:
		r.logger.Info("Cannot look at a cluster, going on with the access there is", "cluster", cluster.String(), "error", r.redact(ar, err))

		return nil
	default:
		return errors.Wrap(err, "cannot get the Cluster")
	}
}

// Holds reports whether access was granted, and has not expired.
func (r *Requester) holds(ar clusters.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.grants[ar]

	return g != nil && g.flaw == nil && !r.expired(g)
}

// Shown reports whether the cache has a cluster. One that it does not have may be new.
func (r *Requester) shown(ctx context.Context, cluster client.ObjectKey) bool {
	r.mu.Lock()
	cached := r.cached
	r.mu.Unlock()
	if cached == nil || !r.lists(ctx) {
		return false
	}
	i, err := cached.GetInformer(ctx, &clustersv1alpha1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil || !i.HasSynced() {
		return false
	}

	return cached.Get(ctx, cluster, &clustersv1alpha1.Cluster{}) == nil
}

// Lists reports whether we may list clusters. It is found out once: a cache would ask for
// it for ever.
func (r *Requester) lists(ctx context.Context) bool {
	r.mu.Lock()
	may := r.mayList
	r.mu.Unlock()
	if may != nil {
		return *may
	}
	err := r.platform.Client().List(ctx, &clustersv1alpha1.ClusterList{}, client.Limit(1))
	if err != nil && !kerrors.IsForbidden(err) {
		return false // not just now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mayList = new(err == nil)

	return err == nil
}

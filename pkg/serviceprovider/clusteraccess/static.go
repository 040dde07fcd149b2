package clusteraccess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Static gives all objects access to the same clusters, without requests. It implements
// serviceprovider.ClusterAccessProvider and AccessDetailer. Create one with NewStatic, and call Close at the end. It is
// safe for concurrent use.
type Static struct {
	standardClusters

	cache *clusters.Cache[*clusters.Cluster]

	mu  sync.Mutex
	ids map[string]bool
}

// NewStatic returns a provider of the clusters of the kubeconfigs. The keys are cluster IDs, such as
// serviceprovider.ClusterMCP. It returns an error if a kubeconfig is invalid.
func NewStatic(scheme *runtime.Scheme, kubeconfigs map[string][]byte) (*Static, error) {
	s := &Static{
		cache: clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{}), ids: map[string]bool{},
	}
	s.standardClusters = standardClusters{s}
	for id, kubeconfig := range kubeconfigs {
		if err := s.Set(id, kubeconfig); err != nil {
			s.Close()

			return nil, err
		}
	}

	return s, nil
}

// Set replaces the kubeconfig of the cluster with the ID. If the kubeconfig is invalid, Set returns an error and
// changes nothing.
func (s *Static) Set(id string, kubeconfig []byte) error {
	k, err := clusters.ParseKubeconfig(kubeconfig, "")
	if err != nil {
		return errors.Wrapf(err, "cannot use the kubeconfig of cluster %s", id)
	}
	sum := sha256.Sum256(kubeconfig)
	s.cache.Set(clusters.Key{Name: id}, clusters.Input{
		RESTConfig: k.RESTConfig, Revision: clusters.Revision(hex.EncodeToString(sum[:8])), Expires: k.Expires,
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[id] = true

	return nil
}

// Connections returns the cache of the connections to all clusters. Controllers that keep state per connection use this
// cache: see clusters.Manager.
func (s *Static) Connections() *clusters.Cache[*clusters.Cluster] { return s.cache }

// Close closes all connections.
func (s *Static) Close() { s.cache.Close() }

// Reconcile does nothing, because there is always access.
func (*Static) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// ReconcileDelete does nothing, because there is nothing to release.
func (*Static) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// Access returns the connection to the cluster with an ID.
func (s *Static) Access(ctx context.Context, _ reconcile.Request, id string) (serviceprovider.Access, error) {
	key := clusters.Key{Name: id}
	c, rev, err := s.cache.Get(ctx, key)
	in, _ := s.cache.Known(key)

	return serviceprovider.Access{
		Cluster: c, Revision: rev, Key: key, Expires: in.Expires,
	}, errors.Wrapf(err, "cannot connect to cluster %s", id)
}

// AccessRequest returns a granted AccessRequest that is not stored on any cluster. If there is no kubeconfig for the
// ID, the error is a Kubernetes not-found error.
func (s *Static) AccessRequest(
	_ context.Context, _ reconcile.Request, id string,
) (*clustersv1alpha1.AccessRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ids[id] {
		return nil, kerrors.NewNotFound(clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource(),
			id)
	}
	ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Name: id}}
	ar.Status.Phase = clustersv1alpha1.RequestGranted

	return ar, nil
}

package clusteraccess

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A pair is the two clusters that every service may have, under the names that
// serviceprovider.ClusterAccessProvider has for them.
type pair struct {
	of serviceprovider.AccessDetailer
}

// MCPCluster returns the control plane.
func (p pair) MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error) {
	a, err := p.of.Access(ctx, request, serviceprovider.ClusterMCP)

	return a.Cluster, err
}

// MCPAccessRequest returns what access to it was asked for with.
func (p pair) MCPAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error) {
	return p.of.AccessRequest(ctx, request, serviceprovider.ClusterMCP)
}

// WorkloadCluster returns the workload cluster.
func (p pair) WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error) {
	a, err := p.of.Access(ctx, request, serviceprovider.ClusterWorkload)

	return a.Cluster, err
}

// WorkloadAccessRequest returns what access to it was asked for with.
func (p pair) WorkloadAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error) {
	return p.of.AccessRequest(ctx, request, serviceprovider.ClusterWorkload)
}

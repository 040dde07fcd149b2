package clusteraccess

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// standardClusters implements the methods of serviceprovider.ClusterAccessProvider for ClusterMCP
// and ClusterWorkload.
type standardClusters struct {
	provider serviceprovider.AccessDetailer
}

// MCPCluster returns the connection to the control plane.
func (p standardClusters) MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error) {
	a, err := p.provider.Access(ctx, request, serviceprovider.ClusterMCP)

	return a.Cluster, err
}

// MCPAccessRequest returns the AccessRequest for the control plane.
func (p standardClusters) MCPAccessRequest(
	ctx context.Context, request reconcile.Request,
) (*clustersv1alpha1.AccessRequest, error) {
	return p.provider.AccessRequest(ctx, request, serviceprovider.ClusterMCP)
}

// WorkloadCluster returns the connection to the workload cluster.
func (p standardClusters) WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error) {
	a, err := p.provider.Access(ctx, request, serviceprovider.ClusterWorkload)

	return a.Cluster, err
}

// WorkloadAccessRequest returns the AccessRequest for the workload cluster.
func (p standardClusters) WorkloadAccessRequest(
	ctx context.Context, request reconcile.Request,
) (*clustersv1alpha1.AccessRequest, error) {
	return p.provider.AccessRequest(ctx, request, serviceprovider.ClusterWorkload)
}

package serviceprovider

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// AccessTo returns what is known of a cluster of an object.
func (r *APIReconciler[T, C]) accessTo(ctx context.Context, req reconcile.Request, id string) (Access, error) {
	if d, ok := r.access.(AccessDetailer); ok {
		return d.Access(ctx, req, id)
	}
	find := r.access.MCPCluster
	if id == ClusterWorkload {
		find = r.access.WorkloadCluster
	}
	var found *clusters.Cluster
	found, err := find(ctx, req)
	if err != nil {
		return Access{}, err
	}
	request, err := r.accessRequest(ctx, req, id)
	if err != nil {
		return Access{}, errors.Wrap(err, "cannot get the access request")
	}

	return Access{Cluster: found, SecretKey: SecretKeyOf(request)}, nil
}

// AccessRequest returns what access to a cluster was asked for with.
func (r *APIReconciler[T, C]) accessRequest(ctx context.Context, req reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error) {
	if d, ok := r.access.(AccessDetailer); ok {
		return d.AccessRequest(ctx, req, id)
	}
	if id == ClusterWorkload {
		return r.access.WorkloadAccessRequest(ctx, req)
	}

	return r.access.MCPAccessRequest(ctx, req)
}

// SecretKeyOf returns the Secret with the kubeconfig that an AccessRequest was granted,
// the zero key if there is none.
func SecretKeyOf(r *clustersv1alpha1.AccessRequest) client.ObjectKey {
	if r == nil || r.Status.SecretRef == nil {
		return client.ObjectKey{}
	}

	return client.ObjectKey{Namespace: r.GetNamespace(), Name: r.Status.SecretRef.Name}
}

package serviceprovider

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An AdvancedProvider requests access to any number of clusters of an object, and distinguishes these clusters by ID.
// Each method gets additional data: one value per AdditionalDataGenerator. The methods may be called concurrently for
// different objects. Errors to branch on are ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned. An AdvancedProvider
// may also implement AccessWatcher and ClusterChecker.
type AdvancedProvider interface {
	// Access returns the connection to the cluster with the ID. Call it after Reconcile has returned an empty result.
	Access(ctx context.Context, request reconcile.Request, id string, data ...any) (Access, error)

	// AccessRequest returns the AccessRequest for the cluster with the ID. If the AccessRequest does not exist, the error
	// is a Kubernetes not-found error with the name of the AccessRequest. This error may also wrap ErrAccessWithdrawn.
	AccessRequest(
		ctx context.Context, request reconcile.Request, id string, data ...any,
	) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile requests access to all clusters of the object. If it returns an empty result and no error, access to all
	// of them is granted.
	Reconcile(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)

	// ReconcileDelete releases the access that Reconcile has requested. If it returns an empty result and no error,
	// nothing is left to release.
	ReconcileDelete(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)
}

// An AdditionalDataGenerator computes additional data of an object for an AdvancedProvider. The reconciler calls it in
// each pass, including the passes of a deletion. The reconciler reports an error of the generator like an error of the
// AdvancedProvider.
type AdditionalDataGenerator[T API] func(ctx context.Context, obj T) (any, error)

// A SimpleProviderAdapter makes a ClusterAccessProvider usable as an AdvancedProvider. It ignores additional data. If
// Provider is an AccessDetailer, the adapter supports all cluster IDs of Provider. Otherwise it supports ClusterMCP and
// ClusterWorkload. Provider is required.
type SimpleProviderAdapter struct{ Provider ClusterAccessProvider }

// Access returns the access to a cluster of an object.
func (a SimpleProviderAdapter) Access(
	ctx context.Context, request reconcile.Request, id string, _ ...any,
) (Access, error) {
	if d, ok := a.Provider.(AccessDetailer); ok {
		return d.Access(ctx, request, id)
	}
	get := map[string]func(context.Context, reconcile.Request) (*clusters.Cluster, error){
		ClusterMCP: a.Provider.MCPCluster, ClusterWorkload: a.Provider.WorkloadCluster,
	}[id]
	if get == nil {
		return Access{}, errors.Errorf("cluster %q is not known", id)
	}
	cluster, err := get(ctx, request)
	if err != nil {
		return Access{}, err
	}
	ar, err := a.AccessRequest(ctx, request, id)
	if err != nil {
		return Access{}, errors.Wrap(err, "cannot get the access request")
	}

	return Access{Cluster: cluster, SecretKey: SecretKeyOf(ar)}, nil
}

// AccessRequest returns the AccessRequest for a cluster.
func (a SimpleProviderAdapter) AccessRequest(
	ctx context.Context, request reconcile.Request, id string, _ ...any,
) (*clustersv1alpha1.AccessRequest, error) {
	if d, ok := a.Provider.(AccessDetailer); ok {
		return d.AccessRequest(ctx, request, id)
	}
	switch id {
	case ClusterMCP:
		return a.Provider.MCPAccessRequest(ctx, request)
	case ClusterWorkload:
		return a.Provider.WorkloadAccessRequest(ctx, request)
	default:
		return nil, errors.Errorf("cluster %q is not known", id)
	}
}

// Reconcile requests access to all clusters of an object.
func (a SimpleProviderAdapter) Reconcile(
	ctx context.Context, request reconcile.Request, _ ...any,
) (reconcile.Result, error) {
	return a.Provider.Reconcile(ctx, request)
}

// CheckClusters calls CheckClusters of Provider if Provider is a ClusterChecker. Otherwise it returns nil.
func (a SimpleProviderAdapter) CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error {
	if c, ok := a.Provider.(ClusterChecker); ok {
		return c.CheckClusters(ctx, request, data...)
	}

	return nil
}

// ReconcileDelete releases the access that Reconcile has requested.
func (a SimpleProviderAdapter) ReconcileDelete(
	ctx context.Context, request reconcile.Request, _ ...any,
) (reconcile.Result, error) {
	return a.Provider.ReconcileDelete(ctx, request)
}

// AccessSources returns the sources of Provider if Provider is an AccessWatcher. Otherwise it returns nil.
func (a SimpleProviderAdapter) AccessSources() []source.Source {
	if w, ok := a.Provider.(AccessWatcher); ok {
		return w.AccessSources()
	}

	return nil
}

// supportsExtraClusters reports whether a provider may support clusters besides ClusterMCP and ClusterWorkload.
func supportsExtraClusters(p AdvancedProvider) bool {
	a, simple := asAdapter(p)
	_, details := a.Provider.(AccessDetailer)

	return !simple || details
}

// asAdapter returns the provider as a SimpleProviderAdapter, if it is one or a pointer to one.
func asAdapter(p AdvancedProvider) (SimpleProviderAdapter, bool) {
	if to, ok := p.(*SimpleProviderAdapter); ok && to != nil {
		return *to, true
	}
	a, ok := p.(SimpleProviderAdapter)

	return a, ok
}

// SecretKeyOf returns the key of the Secret that contains the kubeconfig of a granted AccessRequest. If the
// AccessRequest is nil or names no Secret, SecretKeyOf returns the zero key.
func SecretKeyOf(r *clustersv1alpha1.AccessRequest) client.ObjectKey {
	if r == nil || r.Status.SecretRef == nil {
		return client.ObjectKey{}
	}

	return client.ObjectKey{Namespace: r.GetNamespace(), Name: r.Status.SecretRef.Name}
}

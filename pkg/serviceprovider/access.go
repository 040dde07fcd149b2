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

// An AdvancedProvider gets access to any number of clusters of an object, by their IDs. It gets
// additional data with each request, one value per AdditionalDataGenerator. Otherwise it is like a
// ClusterAccessProvider: its methods may be called concurrently for different objects, the errors
// to branch on are ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned, and it may also be an
// AccessWatcher and a ClusterChecker.
type AdvancedProvider interface {
	// Access returns the access to the cluster with an ID, once Reconcile has returned an empty
	// result.
	Access(ctx context.Context, request reconcile.Request, id string, data ...any) (Access, error)

	// AccessRequest returns the AccessRequest for the cluster. If there is none, the error is a
	// Kubernetes not-found error with its name, and may also be ErrAccessWithdrawn.
	AccessRequest(
		ctx context.Context, request reconcile.Request, id string, data ...any,
	) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile requests access to all clusters of the object. An empty result and no error
	// mean that there is access.
	Reconcile(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)

	// ReconcileDelete releases what Reconcile has requested. An empty result and no error mean
	// that nothing is left.
	ReconcileDelete(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)
}

// An AdditionalDataGenerator computes additional data of an object for an AdvancedProvider. It is
// called in each pass, also of a deletion. Its error is an error of access.
type AdditionalDataGenerator[T API] func(ctx context.Context, obj T) (any, error)

// A SimpleProviderAdapter is an AdvancedProvider on top of a ClusterAccessProvider. It ignores
// additional data. It knows ClusterMCP and ClusterWorkload, or the clusters of the provider if that
// is an AccessDetailer. Provider is required.
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

// Reconcile requests access.
func (a SimpleProviderAdapter) Reconcile(
	ctx context.Context, request reconcile.Request, _ ...any,
) (reconcile.Result, error) {
	return a.Provider.Reconcile(ctx, request)
}

// CheckClusters calls the provider, if it is a ClusterChecker.
func (a SimpleProviderAdapter) CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error {
	if c, ok := a.Provider.(ClusterChecker); ok {
		return c.CheckClusters(ctx, request, data...)
	}

	return nil
}

// ReconcileDelete releases access.
func (a SimpleProviderAdapter) ReconcileDelete(
	ctx context.Context, request reconcile.Request, _ ...any,
) (reconcile.Result, error) {
	return a.Provider.ReconcileDelete(ctx, request)
}

// AccessSources returns the sources of the provider, none if it is no AccessWatcher.
func (a SimpleProviderAdapter) AccessSources() []source.Source {
	if w, ok := a.Provider.(AccessWatcher); ok {
		return w.AccessSources()
	}

	return nil
}

// supportsExtraClusters reports whether a provider may know other clusters than ClusterMCP and
// ClusterWorkload.
func supportsExtraClusters(p AdvancedProvider) bool {
	a, simple := asAdapter(p)
	_, details := a.Provider.(AccessDetailer)

	return !simple || details
}

// asAdapter returns the SimpleProviderAdapter that a provider is or points to.
func asAdapter(p AdvancedProvider) (SimpleProviderAdapter, bool) {
	if to, ok := p.(*SimpleProviderAdapter); ok && to != nil {
		return *to, true
	}
	a, ok := p.(SimpleProviderAdapter)

	return a, ok
}

// SecretKeyOf returns the key of the Secret with the kubeconfig of a granted AccessRequest, the
// zero key if there is none.
func SecretKeyOf(r *clustersv1alpha1.AccessRequest) client.ObjectKey {
	if r == nil || r.Status.SecretRef == nil {
		return client.ObjectKey{}
	}

	return client.ObjectKey{Namespace: r.GetNamespace(), Name: r.Status.SecretRef.Name}
}

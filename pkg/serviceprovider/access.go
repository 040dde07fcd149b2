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

// An AdvancedProvider gets access to any number of clusters of an object, by their IDs.
// What they depend on besides the request comes along as data, one value for each of the
// AdditionalDataGenerators. Otherwise it is like a ClusterAccessProvider: its methods may
// be called concurrently for different objects, the errors to branch on are
// ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned, and it may also be an AccessWatcher.
type AdvancedProvider interface {
	// Access returns what is known of the cluster of an ID, once Reconcile has returned
	// an empty result.
	Access(ctx context.Context, request reconcile.Request, id string, data ...any) (Access, error)

	// AccessRequest returns what access to it was asked for with. The error is a
	// Kubernetes not-found that names it if there is none, and may be ErrAccessWithdrawn as well.
	AccessRequest(ctx context.Context, request reconcile.Request, id string, data ...any) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile asks for access to all clusters of the object. An empty result and no
	// error means that there is access.
	Reconcile(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)

	// ReconcileDelete gives back what Reconcile has asked for. An empty result and no
	// error means that nothing is left.
	ReconcileDelete(ctx context.Context, request reconcile.Request, data ...any) (reconcile.Result, error)
}

// An AdditionalDataGenerator returns what an AdvancedProvider should know of an object. It
// is called in each pass, also of a deletion; its error is one of access.
type AdditionalDataGenerator[T API] func(ctx context.Context, obj T) (any, error)

// A SimpleProviderAdapter is a ClusterAccessProvider as an AdvancedProvider, which needs
// no data: of ClusterMCP and ClusterWorkload, or of whatever it knows as an
// AccessDetailer. Provider is required.
type SimpleProviderAdapter struct{ Provider ClusterAccessProvider }

// Access returns what is known of a cluster of an object.
func (a SimpleProviderAdapter) Access(ctx context.Context, request reconcile.Request, id string, _ ...any) (Access, error) {
	if d, ok := a.Provider.(AccessDetailer); ok {
		return d.Access(ctx, request, id)
	}
	find := map[string]func(context.Context, reconcile.Request) (*clusters.Cluster, error){
		ClusterMCP: a.Provider.MCPCluster, ClusterWorkload: a.Provider.WorkloadCluster,
	}[id]
	if find == nil {
		return Access{}, errors.Errorf("cluster %q is not known", id)
	}
	found, err := find(ctx, request)
	if err != nil {
		return Access{}, err
	}
	ar, err := a.AccessRequest(ctx, request, id)
	if err != nil {
		return Access{}, errors.Wrap(err, "cannot get the access request")
	}

	return Access{Cluster: found, SecretKey: SecretKeyOf(ar)}, nil
}

// AccessRequest returns what access to a cluster was asked for with.
func (a SimpleProviderAdapter) AccessRequest(ctx context.Context, request reconcile.Request, id string, _ ...any) (*clustersv1alpha1.AccessRequest, error) {
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

// Reconcile asks for access.
func (a SimpleProviderAdapter) Reconcile(ctx context.Context, request reconcile.Request, _ ...any) (reconcile.Result, error) {
	return a.Provider.Reconcile(ctx, request)
}

// CheckClusters asks the provider, if it is a ClusterChecker.
func (a SimpleProviderAdapter) CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error {
	if c, ok := a.Provider.(ClusterChecker); ok {
		return c.CheckClusters(ctx, request, data...)
	}

	return nil
}

// ReconcileDelete gives access back.
func (a SimpleProviderAdapter) ReconcileDelete(ctx context.Context, request reconcile.Request, _ ...any) (reconcile.Result, error) {
	return a.Provider.ReconcileDelete(ctx, request)
}

// AccessSources are those of the provider, none if it is no AccessWatcher.
func (a SimpleProviderAdapter) AccessSources() []source.Source {
	if w, ok := a.Provider.(AccessWatcher); ok {
		return w.AccessSources()
	}

	return nil
}

// KnowsFurtherClusters reports whether a provider may have more than the usual two.
func knowsFurtherClusters(p AdvancedProvider) bool {
	a, simple := asAdapter(p)
	_, details := a.Provider.(AccessDetailer)

	return !simple || details
}

// AsAdapter returns the adapter that a provider is, or points to.
func asAdapter(p AdvancedProvider) (SimpleProviderAdapter, bool) {
	if to, ok := p.(*SimpleProviderAdapter); ok && to != nil {
		return *to, true
	}
	a, ok := p.(SimpleProviderAdapter)

	return a, ok
}

// SecretKeyOf returns the Secret with the kubeconfig that an AccessRequest was granted,
// the zero key if there is none.
func SecretKeyOf(r *clustersv1alpha1.AccessRequest) client.ObjectKey {
	if r == nil || r.Status.SecretRef == nil {
		return client.ObjectKey{}
	}

	return client.ObjectKey{Namespace: r.GetNamespace(), Name: r.Status.SecretRef.Name}
}

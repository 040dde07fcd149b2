// Package clusteraccess gives service providers access to the clusters of their objects.
//
// Start with New if a platform grants access. The provider that New returns creates ClusterRequests and AccessRequests,
// and waits until they are granted. It shares one connection per AccessRequest, and replaces the connection when its
// Secret is rotated. When the object is deleted, it releases everything. NewStatic is for small setups and tests: it
// uses kubeconfigs.
//
// The role on the platform needs, in the namespaces of the requests:
//
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=accessrequests,verbs=get;list;watch;create;patch;delete
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=clusterrequests,verbs=get;list;watch;create;patch;delete
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;watch
//
// The provider watches each Secret by its name. Without the permission to watch Secrets, it reads them once a minute,
// and when a cluster rejects their credentials. Without the permission to list clusters, each pass reads the cluster
// that it needs.
package clusteraccess

import "github.com/moorage-dev/moorage/pkg/serviceprovider"

// Names of package serviceprovider, for programs that use them from this package.
type (
	// Provider requests access to the clusters of an object.
	Provider = serviceprovider.ClusterAccessProvider

	// AdvancedProvider requests access to any number of clusters of an object, which it distinguishes by ID.
	AdvancedProvider = serviceprovider.AdvancedProvider

	// SimpleProviderAdapter makes a Provider usable as an AdvancedProvider.
	SimpleProviderAdapter = serviceprovider.SimpleProviderAdapter

	// ClusterContext contains the connections to the clusters of one object.
	ClusterContext = serviceprovider.ClusterContext
)

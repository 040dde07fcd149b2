// Package clusteraccess gives service providers access to the clusters of their objects.
//
// Start with New for a platform that grants access: it creates ClusterRequests and AccessRequests,
// waits until they are granted, keeps one connection for each, replaces the connection when its
// Secret is rotated, and releases everything when the object is deleted. NewStatic is for small
// setups and tests: it uses kubeconfigs.
//
// The role on the platform needs, in the namespaces of the requests:
//
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=accessrequests,verbs=get;list;watch;create;patch;delete
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=clusterrequests,verbs=get;list;watch;create;patch;delete
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;watch
//
// Secrets are watched by name, one by one. Without permission to watch them they are read once a
// minute, and when a cluster rejects their credentials. Without permission to list clusters each
// pass gets the one it needs.
package clusteraccess

import "github.com/moorage-dev/moorage/pkg/serviceprovider"

// Names of package serviceprovider, for programs that know them from here.
type (
	// Provider gets access to the clusters of an object.
	Provider = serviceprovider.ClusterAccessProvider

	// AdvancedProvider gets access to any number of them, by their IDs.
	AdvancedProvider = serviceprovider.AdvancedProvider

	// SimpleProviderAdapter makes an AdvancedProvider of a Provider.
	SimpleProviderAdapter = serviceprovider.SimpleProviderAdapter

	// ClusterContext is the clusters of one object.
	ClusterContext = serviceprovider.ClusterContext
)

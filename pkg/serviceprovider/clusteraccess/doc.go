// Package clusteraccess gets service providers access to the clusters of their objects.
//
// Begin with New for a platform that grants access: it creates ClusterRequests and
// AccessRequests, waits until they are granted, makes one connection for each and
// replaces it when its Secret is rotated, and gives everything back when the object
// goes. NewStatic is for small set-ups and tests: it takes kubeconfigs.
//
// The role on the platform needs, in the namespaces of the requests:
//
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=accessrequests;clusterrequests,verbs=get;list;watch;create;patch;delete
//	// +kubebuilder:rbac:groups=clusters.openmcp.cloud,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;watch
//
// Secrets are watched by name, one by one. Without that right they are read once a minute,
// and as soon as a cluster does not accept what is in them. Without the right to list
// clusters each pass asks for the one it needs.
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

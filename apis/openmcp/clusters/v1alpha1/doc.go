// Package v1alpha1 holds the part of the openMCP platform's cluster API that a service
// provider uses: it asks for a cluster with a ClusterRequest, and for access to it with
// an AccessRequest, and is granted or denied both.
//
// Group, kinds and JSON are the platform's, so that these types work against its own
// definitions. Fields that are not needed are left out; what is sent are patches and new
// objects, so nothing of the platform's is erased.
//
// +kubebuilder:object:generate=true
// +groupName=clusters.openmcp.cloud
package v1alpha1

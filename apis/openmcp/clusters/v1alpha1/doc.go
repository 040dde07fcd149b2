// Package v1alpha1 holds the part of the openMCP platform's cluster API that a service
// provider uses: it requests a cluster with a ClusterRequest, and access to it with
// an AccessRequest, and the platform grants or denies both.
//
// Group, kinds and JSON are the platform's, so that these types work with its own
// definitions. Unused fields are left out; clients only send patches and new
// objects, so no field of the platform is erased.
//
// +kubebuilder:object:generate=true
// +groupName=clusters.openmcp.cloud
package v1alpha1

// Package v1alpha1 holds the part of the openMCP platform's cluster API that a service provider uses. A provider
// requests a cluster with a ClusterRequest, and access to it with an AccessRequest. The platform grants or denies both.
//
// Group, kinds and JSON are the same as in the platform, so these types work with the CRDs of the platform. Fields that
// providers do not use are left out. Clients send only patches and new objects, so they do not erase these fields.
//
// +kubebuilder:object:generate=true
// +groupName=clusters.openmcp.cloud
package v1alpha1

// Package v1alpha1 holds Cluster: where another cluster is, and how the connection to
// it is doing. Package pkg/clusters/connect makes the connections.
//
// +kubebuilder:object:generate=true
// +groupName=clusters.moorage.dev
package v1alpha1

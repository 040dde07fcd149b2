// Package v1alpha1 holds Cluster: the endpoint of another cluster, and the state of the connection to it. Package
// pkg/clusters/connect makes the connections.
//
// +kubebuilder:object:generate=true
// +groupName=clusters.moorage.dev
package v1alpha1

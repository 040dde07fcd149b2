// Package v1alpha1 holds the kinds of the API group postgres.moorage.dev in the version
// v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=postgres.moorage.dev
package v1alpha1

// Package v1alpha1 holds the kinds of the API group nats.moorage.dev in the version
// v1alpha1. Stream, KeyValue, ObjectStore and Consumer are each one JetStream resource;
// ProviderConfig and ClusterProviderConfig are the connection to the NATS system they
// live in. Start with StreamSpec.
//
// What NATS has a default for may be left out. A single value that is left out
// is left to NATS and to whoever changes it there; a list or a block that is
// left out means that there is none. The provider never fills in the spec: what
// NATS made of it is in status.atProvider.config.
//
// +kubebuilder:object:generate=true
// +groupName=nats.moorage.dev
package v1alpha1

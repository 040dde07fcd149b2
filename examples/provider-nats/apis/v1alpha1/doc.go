// Package v1alpha1 holds the kinds of the API group nats.moorage.dev in the version v1alpha1. Stream,
// KeyValue, ObjectStore and Consumer are each one JetStream resource; ProviderConfig and
// ClusterProviderConfig are the connection to their NATS system. Start with StreamSpec.
//
// Fields for which NATS has a default may be left out. A single value that is left out is decided by NATS
// and its other clients; a list or a block that is left out means that there is none. The provider never
// fills in the spec: the effective settings are in status.atProvider.config.
//
// +kubebuilder:object:generate=true
// +groupName=nats.moorage.dev
package v1alpha1

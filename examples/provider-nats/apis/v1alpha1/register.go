package v1alpha1

// Group is the API group of all kinds in this package, Version their version.
const (
	Group   = "nats.moorage.dev"
	Version = "v1alpha1"
)

// Kinds of this package that say how to connect.
const (
	ProviderConfigKind        = "ProviderConfig"
	ClusterProviderConfigKind = "ClusterProviderConfig"
)

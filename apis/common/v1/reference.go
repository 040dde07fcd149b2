package v1

// A Reference names an object of a known kind.
type Reference struct {
	// Name of the referenced object.
	Name string `json:"name"`

	// Namespace of the referenced object.
	Namespace string `json:"namespace"`
}

// A SecretKeySelector names one key of a Secret. Who follows it decides
// whether a namespace other than that of the referring object is acceptable.
type SecretKeySelector struct {
	Reference `json:",inline"`

	// Key whose value is meant.
	Key string `json:"key"`
}

// A ConfigMapKeySelector names one key of a ConfigMap.
type ConfigMapKeySelector struct {
	Reference `json:",inline"`

	// Key whose value is meant.
	Key string `json:"key"`
}

// CredentialSelectors say where credentials come from. A provider documents
// which of them it supports, and which it prefers if several are given.
type CredentialSelectors struct {
	// Env takes the credentials from an environment variable of the provider.
	// +optional
	Env *EnvSelector `json:"env,omitempty"`

	// SecretRef takes the credentials from a Secret.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
}

// An EnvSelector names an environment variable of the provider's process.
type EnvSelector struct {
	// Name of the environment variable.
	Name string `json:"name"`
}

package v1

// A Reference names an object of a known kind.
type Reference struct {
	// Name of the referenced object.
	Name string `json:"name"`

	// Namespace of the referenced object.
	Namespace string `json:"namespace"`
}

// A SecretKeySelector names one key of a Secret. The reader of the Secret decides
// whether a namespace other than that of the referring object is allowed.
type SecretKeySelector struct {
	Reference `json:",inline"`

	// Key of the value.
	Key string `json:"key"`
}

// A ConfigMapKeySelector names one key of a ConfigMap.
type ConfigMapKeySelector struct {
	Reference `json:",inline"`

	// Key of the value.
	Key string `json:"key"`
}

// CredentialSelectors locate credentials. A provider documents
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

// A LocalSecretReference names a Secret in the namespace of the referring
// object.
type LocalSecretReference struct {
	// Name of the Secret.
	Name string `json:"name"`
}

// A ProviderConfigReference names the configuration of the connection to an
// object's external system.
type ProviderConfigReference struct {
	// Kind of the configuration. Empty is the provider's namespaced kind; a
	// namespaced configuration is in the namespace of the referring object.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name of the configuration.
	Name string `json:"name"`
}

// A ResolvePolicy determines when a reference is resolved.
// +kubebuilder:validation:Enum=Always;IfNotPresent
type ResolvePolicy string

// When a reference is resolved.
const (
	// ResolvePolicyAlways resolves the reference in every pass, so that the
	// value follows its referent.
	ResolvePolicyAlways ResolvePolicy = "Always"

	// ResolvePolicyIfNotPresent resolves the reference only while there is no value. It is the default.
	ResolvePolicyIfNotPresent ResolvePolicy = "IfNotPresent"
)

// A ResolutionPolicy determines the effect of an unresolved reference.
// +kubebuilder:validation:Enum=Required;Optional
type ResolutionPolicy string

// The effect of an unresolved reference.
const (
	// ResolutionPolicyRequired keeps the object waiting until the reference
	// is resolved. It is the default.
	ResolutionPolicyRequired ResolutionPolicy = "Required"

	// ResolutionPolicyOptional continues without the value.
	ResolutionPolicyOptional ResolutionPolicy = "Optional"
)

// A ReferencePolicy determines when a reference is resolved, and the effect if
// it is not. Nil, and the zero value, mean IfNotPresent and Required.
type ReferencePolicy struct {
	// Resolve determines when the reference is resolved.
	// +optional
	// +kubebuilder:default=IfNotPresent
	Resolve *ResolvePolicy `json:"resolve,omitempty"`

	// Resolution determines the effect of an unresolved reference.
	// +optional
	// +kubebuilder:default=Required
	Resolution *ResolutionPolicy `json:"resolution,omitempty"`
}

// IsAlways reports whether the reference must be resolved in every pass.
func (p *ReferencePolicy) IsAlways() bool {
	return p != nil && p.Resolve != nil && *p.Resolve == ResolvePolicyAlways
}

// IsOptional reports whether the object can do without the value.
func (p *ReferencePolicy) IsOptional() bool {
	return p != nil && p.Resolution != nil && *p.Resolution == ResolutionPolicyOptional
}

// A NamespacedReference names another managed resource whose name or field the
// object needs.
type NamespacedReference struct {
	// Name of the referent.
	Name string `json:"name"`

	// Namespace of the referent. Empty is the namespace of the referring
	// object; another one has to be granted by the referent.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Policy of the reference.
	// +optional
	Policy *ReferencePolicy `json:"policy,omitempty"`
}

// A NamespacedSelector finds another managed resource whose name or field the
// object needs.
type NamespacedSelector struct {
	// MatchLabels the referent has. An empty map matches everything.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchControllerRef selects a referent with the same controller as the
	// referring object.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`

	// Namespace of the referent. Empty is the namespace of the referring
	// object; another one has to be granted by the referent.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Policy of the reference.
	// +optional
	Policy *ReferencePolicy `json:"policy,omitempty"`
}

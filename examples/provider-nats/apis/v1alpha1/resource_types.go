package v1alpha1

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A ProviderConfigReference names a ProviderConfig of the same namespace, or a
// ClusterProviderConfig.
type ProviderConfigReference struct {
	// Kind of the configuration. Left out it is ProviderConfig.
	// +optional
	// +kubebuilder:validation:Enum=ProviderConfig;ClusterProviderConfig
	Kind string `json:"kind,omitempty"`

	// Name of the configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A LocalSecretReference names a Secret of the same namespace.
type LocalSecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A ResourceSpec has the fields that the specs of all managed kinds have in common.
type ResourceSpec struct {
	// ProviderConfigRef names the connection to NATS.
	// +optional
	// +kubebuilder:default={name: default}
	ProviderConfigRef ProviderConfigReference `json:"providerConfigRef,omitzero"`

	// ManagementPolicies are what the provider may do in NATS for this object.
	// An empty list pauses it.
	// +optional
	// +listType=set
	// +kubebuilder:default={"*"}
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || '*' in self || 'Observe' in self",message="nothing can be done with what is not looked at: add Observe, or *"
	ManagementPolicies commonv1.ManagementPolicies `json:"managementPolicies"`

	// WriteConnectionSecretToRef names the Secret that is to hold what an
	// application needs to find this in NATS. It holds no credentials. The
	// Secret is created, and deleted with this object; one that exists already
	// and belongs to something else is left alone.
	// +optional
	WriteConnectionSecretToRef *LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// reference returns the reference to the configuration, with this kind as the default.
func (s *ResourceSpec) reference(kind string) *commonv1.ProviderConfigReference { //nolint:unparam // scopes may differ
	ref := &commonv1.ProviderConfigReference{Kind: s.ProviderConfigRef.Kind, Name: s.ProviderConfigRef.Name}

	if ref.Kind == "" {
		ref.Kind = kind
	}

	if ref.Name == "" {
		ref.Name = DefaultProviderConfig
	}

	return ref
}

func (s *ResourceSpec) secret() *commonv1.LocalSecretReference {
	if s.WriteConnectionSecretToRef == nil {
		return nil
	}

	return &commonv1.LocalSecretReference{Name: s.WriteConnectionSecretToRef.Name}
}

// A ResourceStatus has the fields that the statuses of all managed kinds have in common.
type ResourceStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.ConnectionStatus  `json:",inline"`
	commonv1.DriftStatus       `json:",inline"`
}

package v1alpha1

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A ProviderConfigReference names a ProviderConfig of the same namespace, or a
// ClusterProviderConfig.
type ProviderConfigReference struct {
	// Kind of the configuration. Left out it is ProviderConfig, or, for an object
	// without a namespace, ClusterProviderConfig.
	// +optional
	// +kubebuilder:validation:Enum=ProviderConfig;ClusterProviderConfig
	Kind string `json:"kind,omitempty"`

	// Name of the configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A ResourceSpec has the fields that the specs of all managed kinds have in common.
type ResourceSpec struct {
	// ProviderConfigRef names how the API is reached.
	// +optional
	// +kubebuilder:default={name: default}
	ProviderConfigRef ProviderConfigReference `json:"providerConfigRef,omitzero"`

	// ManagementPolicies are what the provider may do in the API for this object.
	// An empty list pauses it.
	// +optional
	// +listType=set
	// +kubebuilder:default={"*"}
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || '*' in self || 'Observe' in self",message="nothing can be done with what is not looked at: add Observe, or *"
	ManagementPolicies commonv1.ManagementPolicies `json:"managementPolicies"`
}

// reference returns the reference to the configuration, with this kind as the default.
//
//nolint:unparam // a kind that is not namespaced has another default; this provider has none
func (s *ResourceSpec) reference(kind string) *commonv1.ProviderConfigReference {
	ref := &commonv1.ProviderConfigReference{Kind: s.ProviderConfigRef.Kind, Name: s.ProviderConfigRef.Name}

	if ref.Kind == "" {
		ref.Kind = kind
	}

	if ref.Name == "" {
		ref.Name = "default"
	}

	return ref
}

// A ResourceStatus has the fields that the statuses of all managed kinds have in common.
type ResourceStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.DriftStatus       `json:",inline"`
}

package xp

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// Keys of a connection Secret, which its users read: keep them.
const (
	ResourceCredentialsSecretEndpointKey   = "endpoint"
	ResourceCredentialsSecretPortKey       = "port"
	ResourceCredentialsSecretUserKey       = "username"
	ResourceCredentialsSecretPasswordKey   = "password"
	ResourceCredentialsSecretCAKey         = "clusterCA"
	ResourceCredentialsSecretClientCertKey = "clientCert"
	ResourceCredentialsSecretClientKeyKey  = "clientKey"
	ResourceCredentialsSecretTokenKey      = "token"
	ResourceCredentialsSecretKubeconfigKey = "kubeconfig"
)

// A ManagedResourceSpec is embedded in the spec of a namespaced kind.
type ManagedResourceSpec struct {
	// WriteConnectionSecretToReference names the Secret, in the namespace of the object, that
	// connection details are written to.
	// +optional
	WriteConnectionSecretToReference *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`

	// ProviderConfigReference names the configuration of the provider.
	// +kubebuilder:default={"kind": "ClusterProviderConfig", "name": "default"}
	ProviderConfigReference *commonv1.ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// ManagementPolicies are what may be done with the external resource.
	// +optional
	// +kubebuilder:default={"*"}
	ManagementPolicies commonv1.ManagementPolicies `json:"managementPolicies,omitempty"`
}

// A ResourceSpec is embedded in the spec of a cluster-scoped kind.
type ResourceSpec struct {
	// WriteConnectionSecretToReference names the Secret that connection details are written to.
	// +optional
	WriteConnectionSecretToReference *SecretReference `json:"writeConnectionSecretToRef,omitempty"`

	// ProviderConfigReference names the configuration of the provider.
	// +kubebuilder:default={"name": "default"}
	ProviderConfigReference *commonv1.ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// ManagementPolicies are what may be done with the external resource.
	// +optional
	// +kubebuilder:default={"*"}
	ManagementPolicies commonv1.ManagementPolicies `json:"managementPolicies,omitempty"`

	// DeletionPolicy says what becomes of the external resource when the object is deleted.
	// The annotation krateo.io/deletion-policy counts as well: Orphan in either leaves it.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// A ResourceStatus is embedded in the status of a kind.
type ResourceStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
}

// A SecretReference names a Secret in any namespace.
type SecretReference = commonv1.Reference

// A DeletionPolicy is what happens to an external resource when its object is deleted.
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

// The deletion policies.
const (
	DeletionOrphan DeletionPolicy = "Orphan"
	DeletionDelete DeletionPolicy = "Delete"
)

// A TypedReference names an object and its kind.
type TypedReference struct {
	// APIVersion of the object.
	APIVersion string `json:"apiVersion"`

	// Kind of the object.
	Kind string `json:"kind"`

	// Name of the object.
	Name string `json:"name"`

	// UID of the object.
	// +optional
	UID string `json:"uid,omitempty"`
}

// A ProviderConfigUsage is embedded in a kind that records the use of a configuration. No
// such object is made any more: package providerconfig counts the users.
type ProviderConfigUsage struct {
	// ProviderConfigReference names the configuration.
	ProviderConfigReference commonv1.ProviderConfigReference `json:"providerConfigRef"`

	// ResourceReference names the user.
	ResourceReference TypedReference `json:"resourceRef"`
}

// A TypedProviderConfigUsage is another name of ProviderConfigUsage. crossplane-runtime has both names.
type TypedProviderConfigUsage = ProviderConfigUsage

// DeepCopyInto copies the spec. in must be non-nil.
func (in *ManagedResourceSpec) DeepCopyInto(out *ManagedResourceSpec) {
	out.WriteConnectionSecretToReference = in.WriteConnectionSecretToReference.DeepCopy()
	out.ProviderConfigReference = in.ProviderConfigReference.DeepCopy()
	out.ManagementPolicies = in.ManagementPolicies.DeepCopy()
}

// DeepCopyInto copies the spec. in must be non-nil.
func (in *ResourceSpec) DeepCopyInto(out *ResourceSpec) {
	out.WriteConnectionSecretToReference = in.WriteConnectionSecretToReference.DeepCopy()
	out.ProviderConfigReference = in.ProviderConfigReference.DeepCopy()
	out.ManagementPolicies = in.ManagementPolicies.DeepCopy()
	out.DeletionPolicy = in.DeletionPolicy
}

// DeepCopyInto copies the status. in must be non-nil.
func (in *ResourceStatus) DeepCopyInto(out *ResourceStatus) {
	in.ConditionedStatus.DeepCopyInto(&out.ConditionedStatus)
	in.ObservedStatus.DeepCopyInto(&out.ObservedStatus)
}

// DeepCopyInto copies the reference.
func (in *TypedReference) DeepCopyInto(out *TypedReference) { *out = *in }

// DeepCopyInto copies the record.
func (in *ProviderConfigUsage) DeepCopyInto(out *ProviderConfigUsage) { *out = *in }

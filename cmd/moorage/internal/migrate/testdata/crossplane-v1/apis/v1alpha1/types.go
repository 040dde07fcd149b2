// Package v1alpha1 has the kinds of the provider.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/crossplane/crossplane-runtime/apis/common/v1"
)

// SchemeGroupVersion of the kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "role.example.org", Version: "v1alpha1"}

// Kinds of the provider.
var (
	RoleGroupVersionKind                    = SchemeGroupVersion.WithKind("Role")
	ProviderConfigGroupVersionKind          = SchemeGroupVersion.WithKind("ProviderConfig")
	ProviderConfigUsageGroupVersionKind     = SchemeGroupVersion.WithKind("ProviderConfigUsage")
	ProviderConfigUsageListGroupVersionKind = SchemeGroupVersion.WithKind("ProviderConfigUsageList")
)

// AddToScheme adds the kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &Role{}, &RoleList{}, &ProviderConfig{}, &ProviderConfigList{}, &ProviderConfigUsage{}, &ProviderConfigUsageList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)

	return nil
}

// RoleParameters are what can be set.
type RoleParameters struct {
	// Limit of connections.
	Limit *int64 `json:"limit,omitempty"`

	// Owner of the role, which is another.
	Owner *string `json:"owner,omitempty"`

	OwnerRef      *xpv1.Reference `json:"ownerRef,omitempty"`
	OwnerSelector *xpv1.Selector  `json:"ownerSelector,omitempty"`
}

// RoleSpec is what is wanted.
type RoleSpec struct {
	xpv1.ResourceSpec `json:",inline"`

	ForProvider RoleParameters `json:"forProvider"`
}

// RoleStatus is what was observed.
type RoleStatus struct {
	xpv1.ResourceStatus `json:",inline"`
}

// A Role is one of a database.
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RoleSpec   `json:"spec"`
	Status RoleStatus `json:"status,omitempty"`
}

// A RoleList is a list of them.
type RoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Role `json:"items"`
}

// ProviderConfigSpec says how to connect.
type ProviderConfigSpec struct {
	Credentials ProviderCredentials `json:"credentials"`
}

// ProviderCredentials are where the credentials are.
type ProviderCredentials struct {
	Source xpv1.CredentialsSource `json:"source"`

	xpv1.CommonCredentialSelectors `json:",inline"`
}

// A ProviderConfig says how to connect.
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}

// A ProviderConfigList is a list of them.
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}

// A ProviderConfigUsage records the use of a configuration.
type ProviderConfigUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	xpv1.ProviderConfigUsage `json:",inline"`
}

// A ProviderConfigUsageList is a list of them.
type ProviderConfigUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfigUsage `json:"items"`
}

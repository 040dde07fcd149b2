package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// RoleParameters are the desired state of a Role.
type RoleParameters struct {
	// Login allows the role to connect.
	// +optional
	// +kubebuilder:default=true
	Login *bool `json:"login,omitempty"`

	// CreateDatabase allows the role to create databases.
	// +optional
	CreateDatabase bool `json:"createDatabase,omitempty"`

	// CreateRole allows the role to create roles.
	// +optional
	CreateRole bool `json:"createRole,omitempty"`

	// Inherit gives the role the privileges of the roles of which it is a member.
	// +optional
	// +kubebuilder:default=true
	Inherit *bool `json:"inherit,omitempty"`

	// ConnectionLimit is how many sessions the role may have at a time; -1 means no limit.
	// +optional
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=-1
	ConnectionLimit *int32 `json:"connectionLimit,omitempty"`

	// PasswordRotation is any text, such as a date. Each change of it makes a new password, if there is a
	// spec.writeConnectionSecretToRef.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:-]*$`
	PasswordRotation string `json:"passwordRotation,omitempty"`
}

// A RoleObservation is the observed state of a Role.
type RoleObservation struct {
	// Login is true if the role may connect.
	// +optional
	Login bool `json:"login,omitempty"`

	// CreateDatabase is true if the role may create databases.
	// +optional
	CreateDatabase bool `json:"createDatabase,omitempty"`

	// CreateRole is true if the role may create roles.
	// +optional
	CreateRole bool `json:"createRole,omitempty"`

	// ConnectionLimit is how many sessions the role may have at a time; -1 means no limit.
	// +optional
	ConnectionLimit int32 `json:"connectionLimit,omitempty"`

	// PasswordID identifies the password that the server has and the Secret has under the key password. It says
	// nothing about the password.
	// +optional
	PasswordID string `json:"passwordID,omitempty"`
}

// A RoleSpec is the desired state.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.writeConnectionSecretToRef) || has(self.writeConnectionSecretToRef)",message="the Secret cannot be removed: applications read it; delete this object and create it again"
type RoleSpec struct {
	ResourceSpec `json:",inline"`

	// WriteConnectionSecretToRef names the Secret for the user name and the password. The role gets a generated password
	// only if it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.name == oldSelf.name",message="the Secret cannot be changed: applications read it"
	WriteConnectionSecretToRef *SecretReference `json:"writeConnectionSecretToRef,omitempty"`

	// ForProvider is the desired state in the API.
	ForProvider RoleParameters `json:"forProvider"`
}

// A RoleStatus is the observed state.
type RoleStatus struct {
	ResourceStatus            `json:",inline"`
	commonv1.ConnectionStatus `json:",inline"`

	// AtProvider is the observed state in the API.
	// +optional
	AtProvider RoleObservation `json:"atProvider,omitzero"`
}

// A Role is a role of a PostgreSQL server. Its deletion drops the role, as soon as the role owns nothing and has no
// privilege. With spec.writeConnectionSecretToRef it has a generated password.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=roles,scope=Namespaced,categories={managed,postgres}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="UPTODATE",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='UpToDate')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RoleSpec   `json:"spec"`
	Status RoleStatus `json:"status,omitzero"`
}

// A RoleList is a list of Role objects.
//
// +kubebuilder:object:root=true
type RoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Role `json:"items"`
}

// GetWriteConnectionSecretToReference returns the Secret for the connection details, or nil.
func (mg *Role) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	if mg.Spec.WriteConnectionSecretToRef == nil {
		return nil
	}

	return &commonv1.LocalSecretReference{Name: mg.Spec.WriteConnectionSecretToRef.Name}
}

// GetConnectionDetailsHash returns the hash of the last published connection details.
func (mg *Role) GetConnectionDetailsHash() string { return mg.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of the last published connection details.
func (mg *Role) SetConnectionDetailsHash(hash string) { mg.Status.SetConnectionDetailsHash(hash) }

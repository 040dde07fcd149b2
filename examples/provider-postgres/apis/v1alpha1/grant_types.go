package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// GrantParameters are the desired state of a Grant.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) || has(self.roleRef)",message="one of role and roleRef must say who gets the privileges"
// +kubebuilder:validation:XValidation:rule="has(self.database) || has(self.databaseRef)",message="one of database and databaseRef must say on what"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.role) || has(self.role) && self.role == oldSelf.role",message="role cannot be changed once it is known: delete this object and create it again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.database) || has(self.database) && self.database == oldSelf.database",message="database cannot be changed once it is known: delete this object and create it again"
type GrantParameters struct {
	// Role is the name of the role that gets the privileges.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Role *string `json:"role,omitempty"`

	// RoleRef names the Role object that gets the privileges. It is resolved when the Role is ready.
	// +optional
	RoleRef *commonv1.NamespacedReference `json:"roleRef,omitempty"`

	// Database is the name of the database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`

	// DatabaseRef names the Database object. It is resolved when the Database is ready.
	// +optional
	DatabaseRef *commonv1.NamespacedReference `json:"databaseRef,omitempty"`

	// Privileges on the database.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Privileges []Privilege `json:"privileges"`
}

// A Privilege on a database.
//
// +kubebuilder:validation:Enum=CONNECT;CREATE;TEMPORARY
type Privilege string

// A GrantObservation is the observed state of a Grant.
type GrantObservation struct {
	// Privileges that the owner of the database has granted to the role.
	// +optional
	// +listType=atomic
	Privileges []string `json:"privileges,omitempty"`
}

// A GrantSpec is the desired state.
type GrantSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired state in the API.
	ForProvider GrantParameters `json:"forProvider"`
}

// A GrantStatus is the observed state.
type GrantStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the observed state in the API.
	// +optional
	AtProvider GrantObservation `json:"atProvider,omitzero"`
}

// A Grant gives a role privileges on a database. PostgreSQL cannot store an owner of privileges: what the role has
// already counts as that of the Grant. Of several Grants for the same role and database the oldest owns it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=grants,scope=Namespaced,categories={managed,postgres}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="UPTODATE",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='UpToDate')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec   `json:"spec"`
	Status GrantStatus `json:"status,omitzero"`
}

// A GrantList is a list of Grant objects.
//
// +kubebuilder:object:root=true
type GrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Grant `json:"items"`
}

// ResolveReferences writes the names of the role and of the database into the spec, as soon as both are ready.
func (mg *Grant) ResolveReferences(ctx context.Context, r client.Reader) error {
	p := &mg.Spec.ForProvider

	return resolve(ctx, r, mg, role("role", &p.Role, p.RoleRef), database("database", &p.Database, p.DatabaseRef))
}

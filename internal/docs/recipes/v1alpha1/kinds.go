// Package v1alpha1 has the kinds of the recipes of docs/recipes.md.
//
// +kubebuilder:object:generate=true
// +groupName=recipes.example.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion is the group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "recipes.example.org", Version: "v1alpha1"}

// The kinds, as controllers are set up for them.
var (
	DatabaseKind   = resource.ManagedKind(GroupVersion.WithKind("Database"))
	UserKind       = resource.ManagedKind(GroupVersion.WithKind("User"))
	MembershipKind = resource.ManagedKind(GroupVersion.WithKind("Membership"))
)

// A DatabaseSpec is the desired state of a database.
type DatabaseSpec struct {
	// SizeGiB is the size of the database.
	SizeGiB int32 `json:"sizeGiB"`
}

// A UserSpec is the desired state of a user.
type UserSpec struct {
	// Team of the user.
	Team string `json:"team"`

	// TokenSecretRef names the Secret with the token that the user logs in with. It is optional.
	// +optional
	TokenSecretRef *commonv1.LocalSecretReference `json:"tokenSecretRef,omitempty"`

	// WriteConnectionSecretToRef names the Secret that the connection details are written to. It is optional.
	// +optional
	WriteConnectionSecretToRef *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// A MembershipSpec names the two objects that a membership connects. Both fields are immutable.
type MembershipSpec struct {
	Group string `json:"group"`
	User  string `json:"user"`
}

// A Status is the observed state of an object.
type Status struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.ConnectionStatus  `json:",inline"`

	// AppliedToken is the version of the Secret whose token was sent last.
	// +optional
	AppliedToken string `json:"appliedToken,omitempty"`
}

// A Database is a database of a server.
//
// +kubebuilder:object:root=true
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec `json:"spec"`
	Status `json:"status,omitempty"`
}

// A User is a user of a server.
//
// +kubebuilder:object:root=true
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UserSpec `json:"spec"`
	Status `json:"status,omitempty"`
}

// GetWriteConnectionSecretToReference returns the Secret for the connection details, or nil.
func (u *User) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return u.Spec.WriteConnectionSecretToRef
}

// A Membership makes a user a member of a group.
//
// +kubebuilder:object:root=true
type Membership struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MembershipSpec `json:"spec"`
	Status `json:"status,omitempty"`
}

// A DatabaseList is a list of databases.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Database `json:"items"`
}

// A UserList is a list of users.
//
// +kubebuilder:object:root=true
type UserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []User `json:"items"`
}

// A MembershipList is a list of memberships.
//
// +kubebuilder:object:root=true
type MembershipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Membership `json:"items"`
}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Database{}, &DatabaseList{}, &User{}, &UserList{},
		&Membership{}, &MembershipList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

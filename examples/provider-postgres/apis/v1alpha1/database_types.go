package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// DatabaseParameters are the desired state of a Database. Fields that are not set are as the server decides, and are
// not compared.
//
// +kubebuilder:validation:XValidation:rule="has(self.encoding) == has(oldSelf.encoding) && (!has(self.encoding) || self.encoding == oldSelf.encoding)",message="encoding cannot be changed: delete this object and create it again"
// +kubebuilder:validation:XValidation:rule="has(self.collate) == has(oldSelf.collate) && (!has(self.collate) || self.collate == oldSelf.collate)",message="collate cannot be changed: delete this object and create it again"
// +kubebuilder:validation:XValidation:rule="has(self.characterType) == has(oldSelf.characterType) && (!has(self.characterType) || self.characterType == oldSelf.characterType)",message="characterType cannot be changed: delete this object and create it again"
type DatabaseParameters struct {
	// Owner is the name of the role that owns the database. The user of the configuration becomes a member of it.
	// Default: the user of the configuration at the creation; later owners are left as they are.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Owner *string `json:"owner,omitempty"`

	// OwnerRef names the Role object that owns the database. It is resolved when the Role is ready.
	// +optional
	OwnerRef *commonv1.NamespacedReference `json:"ownerRef,omitempty"`

	// Encoding of the texts.
	// +optional
	// +kubebuilder:validation:Enum=UTF8;SQL_ASCII;LATIN1;LATIN2;LATIN9;WIN1250;WIN1251;WIN1252
	Encoding *string `json:"encoding,omitempty"`

	// Collate is the locale by which texts are sorted, such as C or en_US.UTF-8.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Collate *string `json:"collate,omitempty"`

	// CharacterType is the locale that says which characters are letters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	CharacterType *string `json:"characterType,omitempty"`

	// ConnectionLimit is how many sessions there may be at a time; -1 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ConnectionLimit *int32 `json:"connectionLimit,omitempty"`
}

// A DatabaseObservation is the observed state of a Database.
type DatabaseObservation struct {
	// Owner is the name of the role that owns the database.
	// +optional
	Owner string `json:"owner,omitempty"`

	// Encoding of the texts.
	// +optional
	Encoding string `json:"encoding,omitempty"`

	// Collate is the locale by which texts are sorted.
	// +optional
	Collate string `json:"collate,omitempty"`

	// CharacterType is the locale that says which characters are letters.
	// +optional
	CharacterType string `json:"characterType,omitempty"`

	// ConnectionLimit is how many sessions there may be at a time; -1 means no limit.
	// +optional
	ConnectionLimit *int32 `json:"connectionLimit,omitempty"`
}

// A DatabaseSpec is the desired state.
type DatabaseSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired state in the API.
	ForProvider DatabaseParameters `json:"forProvider"`
}

// A DatabaseStatus is the observed state.
type DatabaseStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the observed state in the API.
	// +optional
	AtProvider DatabaseObservation `json:"atProvider,omitzero"`
}

// A Database is a database of a PostgreSQL server. Its deletion drops the database, with all that is in it, as soon
// as no session uses it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=databases,scope=Namespaced,categories={managed,postgres}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="UPTODATE",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='UpToDate')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitzero"`
}

// A DatabaseList is a list of Database objects.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Database `json:"items"`
}

// ResolveReferences writes the name of the owner into the spec, as soon as the Role is ready.
func (mg *Database) ResolveReferences(ctx context.Context, r client.Reader) error {
	return resolve(ctx, r, mg, role("owner", &mg.Spec.ForProvider.Owner, mg.Spec.ForProvider.OwnerRef))
}

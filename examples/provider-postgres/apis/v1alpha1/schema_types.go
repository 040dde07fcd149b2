package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// SchemaParameters are the desired state of a Schema.
//
// +kubebuilder:validation:XValidation:rule="has(self.database) || has(self.databaseRef)",message="one of database and databaseRef must say where the schema is"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.database) || has(self.database) && self.database == oldSelf.database",message="database cannot be changed once it is known: delete this object and create it again"
type SchemaParameters struct {
	// Database is the name of the database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`

	// DatabaseRef names the Database object. It is resolved when the Database is ready.
	// +optional
	DatabaseRef *commonv1.NamespacedReference `json:"databaseRef,omitempty"`

	// Owner is the name of the role that owns the schema. The user of the configuration becomes a member of it.
	// Default: the user of the configuration at the creation; later owners are left as they are.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Owner *string `json:"owner,omitempty"`

	// OwnerRef names the Role object that owns the schema. It is resolved when the Role is ready.
	// +optional
	OwnerRef *commonv1.NamespacedReference `json:"ownerRef,omitempty"`
}

// A SchemaObservation is the observed state of a Schema.
type SchemaObservation struct {
	// Owner is the name of the role that owns the schema.
	// +optional
	Owner string `json:"owner,omitempty"`
}

// A SchemaSpec is the desired state.
type SchemaSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired state in the API.
	ForProvider SchemaParameters `json:"forProvider"`
}

// A SchemaStatus is the observed state.
type SchemaStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the observed state in the API.
	// +optional
	AtProvider SchemaObservation `json:"atProvider,omitzero"`
}

// A Schema is a schema of a database. Its deletion drops the schema, as soon as nothing is in it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=schemas,scope=Namespaced,categories={managed,postgres}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="UPTODATE",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='UpToDate')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Schema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchemaSpec   `json:"spec"`
	Status SchemaStatus `json:"status,omitzero"`
}

// A SchemaList is a list of Schema objects.
//
// +kubebuilder:object:root=true
type SchemaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Schema `json:"items"`
}

// ResolveReferences writes the names of the database and of the owner into the spec, as soon as both are ready.
func (mg *Schema) ResolveReferences(ctx context.Context, r client.Reader) error {
	p := &mg.Spec.ForProvider

	return resolve(ctx, r, mg, database("database", &p.Database, p.DatabaseRef), role("owner", &p.Owner, p.OwnerRef))
}

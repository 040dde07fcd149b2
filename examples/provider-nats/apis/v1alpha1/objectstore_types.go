package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectStoreParameters are the desired settings of an object store bucket.
type ObjectStoreParameters struct {
	// Description for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`

	// TTL is how long an object stays; 0s means for ever.
	// +optional
	TTL *Duration `json:"ttl,omitempty"`

	// MaxBytes is the largest size of the bucket; -1 means no limit.
	// +optional
	MaxBytes *resource.Quantity `json:"maxBytes,omitempty"`

	// Storage cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=file;memory
	Storage *string `json:"storage,omitempty"`

	// Replicas is the number of servers that hold the data.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	Replicas *int32 `json:"replicas,omitempty"`

	// Placement says on which servers the data may lie.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// Compression of objects in file storage.
	// +optional
	// +kubebuilder:validation:Enum=none;s2
	Compression *string `json:"compression,omitempty"`

	// Sealed makes the bucket read-only. It cannot be taken back. A bucket is
	// created open and sealed right after.
	// +optional
	Sealed *bool `json:"sealed,omitempty"`

	// Metadata of the bucket. Keys of the server (_nats.) and of this provider
	// are not among them.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('_nats.') && k != 'moorage.dev/owner')",message="keys that begin with _nats. and the key moorage.dev/owner are reserved"
	Metadata map[string]string `json:"metadata,omitempty"`
}

// An ObjectStoreSpec is the desired state.
type ObjectStoreSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired bucket.
	// +optional
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.storage) || !has(self.storage) || self.storage == oldSelf.storage",message="storage cannot be changed: NATS refuses it; delete this object and create it again, what is stored is lost with it"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.sealed) && oldSelf.sealed && has(self.sealed) && !self.sealed)",message="sealed cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!has(self.ttl) || duration(self.ttl) == duration('0s') || duration(self.ttl) >= duration('100ms')",message="ttl must be 0s or at least 100ms"
	ForProvider ObjectStoreParameters `json:"forProvider"`
}

// An ObjectStoreObservation is the last observed state.
type ObjectStoreObservation struct {
	// Config is the effective configuration in NATS, defaults included.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *ObjectStoreParameters `json:"config,omitempty"`

	// Created is when the bucket was created, as RFC 3339 writes it, to the
	// nanosecond. It distinguishes the object's bucket from another one of its name,
	// should the mark of its owner be lost.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Created string `json:"created,omitempty"`

	// Messages that the objects in the bucket consist of. This and the size may
	// be up to ten minutes old.
	// +optional
	Messages int64 `json:"messages,omitempty"`

	// Bytes that they take.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`

	// Cluster says where the data are. A single server does not report it.
	// +optional
	Cluster *ClusterObservation `json:"cluster,omitempty"`

	// ServerVersion is the version of the server that answered.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// An ObjectStoreStatus is the observed state.
type ObjectStoreStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the last observed state in NATS.
	// +optional
	AtProvider ObjectStoreObservation `json:"atProvider,omitzero"`
}

// An ObjectStore is an object store bucket in JetStream. It is named as the
// annotation krateo.io/external-name says, or else as the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={managed,nats}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ObjectStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ObjectStoreSpec   `json:"spec"`
	Status ObjectStoreStatus `json:"status,omitzero"`
}

// An ObjectStoreList is a list of ObjectStores.
//
// +kubebuilder:object:root=true
type ObjectStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ObjectStore `json:"items"`
}

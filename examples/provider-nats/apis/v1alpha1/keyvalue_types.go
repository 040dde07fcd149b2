package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KeyValueParameters are the desired settings of a key-value bucket.
type KeyValueParameters struct {
	// Description for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`

	// History is how many values of a key are kept. NATS keeps one if it is
	// left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	History *int32 `json:"history,omitempty"`

	// TTL is how long a value stays; 0s means for ever.
	// +optional
	TTL *Duration `json:"ttl,omitempty"`

	// MaxValueSize is the largest size of one value; -1 means no limit.
	// +optional
	MaxValueSize *resource.Quantity `json:"maxValueSize,omitempty"`

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

	// Compression of values in file storage.
	// +optional
	// +kubebuilder:validation:Enum=none;s2
	Compression *string `json:"compression,omitempty"`

	// Republish sends every change on.
	// +optional
	Republish *Republish `json:"republish,omitempty"`

	// Mirror makes the bucket a copy of another. It cannot be changed but only
	// be removed, which promotes the copy to a bucket of its own.
	// +optional
	Mirror *Source `json:"mirror,omitempty"`

	// Sources are buckets whose values are copied into this one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Sources []Source `json:"sources,omitempty"`

	// LimitMarkerTTL leaves a marker for that long when a value ages away, so
	// that watchers learn of it; 0s means none. Values may then bring an age
	// limit of their own, which cannot be taken back.
	// +optional
	LimitMarkerTTL *Duration `json:"limitMarkerTTL,omitempty"`

	// Metadata of the bucket. Keys of the server (_nats.) and of this provider
	// are not among them.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('_nats.') && k != 'moorage.dev/owner')",message="keys that begin with _nats. and the key moorage.dev/owner are reserved"
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A KeyValueSpec is the desired state.
type KeyValueSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired bucket.
	// +optional
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.storage) || !has(self.storage) || self.storage == oldSelf.storage",message="storage cannot be changed: NATS refuses it; delete this object and create it again, its values are lost with it"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || (has(oldSelf.mirror) && self.mirror == oldSelf.mirror)",message="mirror can only be given at creation, and be removed"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !(has(self.sources) && size(self.sources) > 0)",message="mirror and sources exclude each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.sources) || self.sources.all(s, !has(s.filterSubject))",message="sources of a KeyValue filter by subjectTransforms, not by filterSubject"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !has(self.limitMarkerTTL) || duration(self.limitMarkerTTL) == duration('0s')",message="mirror and limitMarkerTTL exclude each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.limitMarkerTTL) || duration(self.limitMarkerTTL) == duration('0s') || duration(self.limitMarkerTTL) >= duration('1s')",message="limitMarkerTTL must be 0s or at least 1s"
	// +kubebuilder:validation:XValidation:rule="!has(self.ttl) || duration(self.ttl) == duration('0s') || duration(self.ttl) >= duration('100ms')",message="ttl must be 0s or at least 100ms"
	ForProvider KeyValueParameters `json:"forProvider"`
}

// A KeyValueObservation is the last observed state.
type KeyValueObservation struct {
	// Config is the effective configuration in NATS, defaults included.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *KeyValueParameters `json:"config,omitempty"`

	// Created is when the bucket was created, as RFC 3339 writes it, to the
	// nanosecond. It distinguishes the object's bucket from another one of its name,
	// should the mark of its owner be lost.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Created string `json:"created,omitempty"`

	// Values in the bucket, history and markers included. This and the size
	// may be up to ten minutes old.
	// +optional
	Values int64 `json:"values,omitempty"`

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

// A KeyValueStatus is the observed state.
type KeyValueStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the last observed state in NATS.
	// +optional
	AtProvider KeyValueObservation `json:"atProvider,omitzero"`
}

// A KeyValue is a key-value bucket in JetStream. It is named as the annotation
// krateo.io/external-name says, or else as the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=keyvalues,scope=Namespaced,categories={managed,nats},shortName=kv
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type KeyValue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KeyValueSpec   `json:"spec"`
	Status KeyValueStatus `json:"status,omitzero"`
}

// A KeyValueList is a list of KeyValues.
//
// +kubebuilder:object:root=true
type KeyValueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KeyValue `json:"items"`
}

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of the enumerations of a Stream.
const (
	RetentionLimits    = "limits"
	RetentionInterest  = "interest"
	RetentionWorkQueue = "workqueue"

	DiscardOld = "old"
	DiscardNew = "new"

	PersistModeDefault = "default"
	PersistModeAsync   = "async"
)

// ConsumerLimits bound what consumers of the stream may ask for.
type ConsumerLimits struct {
	// InactiveThreshold is the longest time a consumer may stay unused.
	// +optional
	InactiveThreshold *Duration `json:"inactiveThreshold,omitempty"`

	// MaxAckPending is the largest number of unacknowledged messages.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxAckPending *int32 `json:"maxAckPending,omitempty"`
}

// StreamParameters are the desired settings of a JetStream stream.
type StreamParameters struct {
	// Description for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`

	// Subjects whose messages are stored. Without subjects, mirror and sources
	// NATS takes the name of the stream.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Subjects []string `json:"subjects,omitempty"`

	// Retention says when a message leaves: at a limit, when every consumer
	// has it, or when one has it. To and from workqueue it cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=limits;interest;workqueue
	Retention *string `json:"retention,omitempty"`

	// Storage cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=file;memory
	Storage *string `json:"storage,omitempty"`

	// Replicas is the number of servers that hold the data.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	Replicas *int32 `json:"replicas,omitempty"`

	// MaxMsgs is the largest number of messages; -1 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxMsgs *int64 `json:"maxMsgs,omitempty"`

	// MaxBytes is the largest size of all messages; -1 means no limit.
	// +optional
	MaxBytes *resource.Quantity `json:"maxBytes,omitempty"`

	// MaxAge is how long a message stays; 0s means for ever.
	// +optional
	MaxAge *Duration `json:"maxAge,omitempty"`

	// MaxMsgsPerSubject is the largest number of messages of one subject; -1
	// means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxMsgsPerSubject *int64 `json:"maxMsgsPerSubject,omitempty"`

	// MaxMsgSize is the largest size of one message; -1 means no limit.
	// +optional
	MaxMsgSize *resource.Quantity `json:"maxMsgSize,omitempty"`

	// MaxConsumers is the largest number of consumers; -1 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxConsumers *int32 `json:"maxConsumers,omitempty"`

	// Discard says which messages go when a limit is reached.
	// +optional
	// +kubebuilder:validation:Enum=old;new
	Discard *string `json:"discard,omitempty"`

	// DiscardNewPerSubject applies discard new to the limit per subject too.
	// +optional
	DiscardNewPerSubject *bool `json:"discardNewPerSubject,omitempty"`

	// NoAck turns off acknowledgements to publishers.
	// +optional
	NoAck *bool `json:"noAck,omitempty"`

	// DuplicateWindow is how long message ids are remembered.
	// +optional
	DuplicateWindow *Duration `json:"duplicateWindow,omitempty"`

	// Placement says on which servers the data may lie.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// Mirror makes the stream a copy of another. It cannot be changed but only
	// be removed, which promotes the copy to a stream of its own.
	// +optional
	Mirror *Source `json:"mirror,omitempty"`

	// Sources are streams whose messages are copied into this one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Sources []Source `json:"sources,omitempty"`

	// Compression of messages in file storage.
	// +optional
	// +kubebuilder:validation:Enum=none;s2
	Compression *string `json:"compression,omitempty"`

	// SubjectTransform renames subjects before messages are stored.
	// +optional
	SubjectTransform *SubjectTransform `json:"subjectTransform,omitempty"`

	// Republish sends stored messages on.
	// +optional
	Republish *Republish `json:"republish,omitempty"`

	// AllowDirect lets every replica answer requests for single messages.
	// +optional
	AllowDirect *bool `json:"allowDirect,omitempty"`

	// MirrorDirect lets a mirror answer them in place of its origin. For an
	// origin in the same account NATS sets it as allowDirect of the origin,
	// whatever is asked for here.
	// +optional
	MirrorDirect *bool `json:"mirrorDirect,omitempty"`

	// AllowRollup lets a message replace all earlier ones.
	// +optional
	AllowRollup *bool `json:"allowRollup,omitempty"`

	// DenyDelete forbids to delete single messages. It cannot be taken back.
	// +optional
	DenyDelete *bool `json:"denyDelete,omitempty"`

	// DenyPurge forbids to purge messages. It cannot be taken back.
	// +optional
	DenyPurge *bool `json:"denyPurge,omitempty"`

	// Sealed makes the stream read-only. It cannot be taken back. A stream is
	// created open and sealed right after.
	// +optional
	Sealed *bool `json:"sealed,omitempty"`

	// FirstSeq is the sequence of the first message. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FirstSeq *int64 `json:"firstSeq,omitempty"`

	// ConsumerLimits bound what consumers may ask for.
	// +optional
	ConsumerLimits *ConsumerLimits `json:"consumerLimits,omitempty"`

	// AllowMsgTTL lets a message bring its own age limit. It cannot be taken
	// back.
	// +optional
	AllowMsgTTL *bool `json:"allowMsgTTL,omitempty"`

	// SubjectDeleteMarkerTTL leaves a marker for that long when the last
	// message of a subject ages away; 0s means none. It switches allowMsgTTL
	// and allowRollup on.
	// +optional
	SubjectDeleteMarkerTTL *Duration `json:"subjectDeleteMarkerTTL,omitempty"`

	// AllowMsgCounter makes every subject a counter. It cannot be changed.
	// +optional
	AllowMsgCounter *bool `json:"allowMsgCounter,omitempty"`

	// AllowAtomicPublish lets a batch of messages be stored whole or not.
	// +optional
	AllowAtomicPublish *bool `json:"allowAtomicPublish,omitempty"`

	// AllowBatchPublish lets messages be published in fast batches. It needs
	// NATS 2.14.
	// +optional
	AllowBatchPublish *bool `json:"allowBatchPublish,omitempty"`

	// AllowMsgSchedules lets messages be delivered later. It switches
	// allowRollup on and cannot be taken back.
	// +optional
	AllowMsgSchedules *bool `json:"allowMsgSchedules,omitempty"`

	// PersistMode says whether a message is on disk before it is acknowledged.
	// It cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=default;async
	PersistMode *string `json:"persistMode,omitempty"`

	// Metadata of the stream. Keys of the server (_nats.) and of this provider
	// are not among them.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('_nats.') && k != 'moorage.dev/owner')",message="keys that begin with _nats. and the key moorage.dev/owner are reserved"
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A StreamSpec is the desired state.
type StreamSpec struct {
	ResourceSpec `json:",inline"`

	// The rules are here and not at the type, because the type also shows
	// the observed state, which must never be refused.

	// ForProvider is the desired stream.
	// +optional
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.storage) || !has(self.storage) || self.storage == oldSelf.storage",message="storage cannot be changed: NATS refuses it; delete this object and create it again, its messages are lost with it"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.retention) || !has(self.retention) || self.retention == oldSelf.retention || (self.retention != 'workqueue' && oldSelf.retention != 'workqueue')",message="retention cannot be changed to or from workqueue"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || (has(oldSelf.mirror) && self.mirror == oldSelf.mirror)",message="mirror can only be given at creation, and be removed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.firstSeq) || !has(self.firstSeq) || self.firstSeq == oldSelf.firstSeq",message="firstSeq cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.persistMode) || !has(self.persistMode) || self.persistMode == oldSelf.persistMode",message="persistMode cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.allowMsgCounter) || !has(self.allowMsgCounter) || self.allowMsgCounter == oldSelf.allowMsgCounter",message="allowMsgCounter cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.sealed) && oldSelf.sealed && has(self.sealed) && !self.sealed)",message="sealed cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.denyDelete) && oldSelf.denyDelete && has(self.denyDelete) && !self.denyDelete)",message="denyDelete cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.denyPurge) && oldSelf.denyPurge && has(self.denyPurge) && !self.denyPurge)",message="denyPurge cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.allowMsgTTL) && oldSelf.allowMsgTTL && has(self.allowMsgTTL) && !self.allowMsgTTL)",message="allowMsgTTL cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.allowMsgSchedules) && oldSelf.allowMsgSchedules && has(self.allowMsgSchedules) && !self.allowMsgSchedules)",message="allowMsgSchedules cannot be taken back"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !(has(self.subjects) && size(self.subjects) > 0)",message="mirror and subjects exclude each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !(has(self.sources) && size(self.sources) > 0)",message="mirror and sources exclude each other"
	// +kubebuilder:validation:XValidation:rule="has(self.mirror) || !(has(self.mirrorDirect) && self.mirrorDirect)",message="mirrorDirect needs mirror"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !(has(self.firstSeq) && self.firstSeq > 0)",message="mirror and firstSeq exclude each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !((has(self.allowMsgCounter) && self.allowMsgCounter) || (has(self.allowAtomicPublish) && self.allowAtomicPublish) || (has(self.allowBatchPublish) && self.allowBatchPublish) || (has(self.allowMsgSchedules) && self.allowMsgSchedules))",message="a mirror cannot have allowMsgCounter, allowAtomicPublish, allowBatchPublish or allowMsgSchedules"
	// +kubebuilder:validation:XValidation:rule="!has(self.mirror) || !has(self.subjectDeleteMarkerTTL) || duration(self.subjectDeleteMarkerTTL) == duration('0s')",message="mirror and subjectDeleteMarkerTTL exclude each other"
	// +kubebuilder:validation:XValidation:rule="!(has(self.sources) && size(self.sources) > 0 && has(self.allowMsgSchedules) && self.allowMsgSchedules)",message="sources and allowMsgSchedules exclude each other"
	// +kubebuilder:validation:XValidation:rule="!(has(self.discardNewPerSubject) && self.discardNewPerSubject) || (has(self.discard) && self.discard == 'new' && has(self.maxMsgsPerSubject) && self.maxMsgsPerSubject > 0)",message="discardNewPerSubject needs discard new and maxMsgsPerSubject above 0"
	// +kubebuilder:validation:XValidation:rule="!(has(self.denyPurge) && self.denyPurge) || !((has(self.allowRollup) && self.allowRollup) || (has(self.allowMsgSchedules) && self.allowMsgSchedules) || (has(self.subjectDeleteMarkerTTL) && duration(self.subjectDeleteMarkerTTL) > duration('0s')))",message="denyPurge excludes allowRollup, allowMsgSchedules and subjectDeleteMarkerTTL"
	// +kubebuilder:validation:XValidation:rule="!(has(self.allowRollup) && !self.allowRollup) || !((has(self.allowMsgSchedules) && self.allowMsgSchedules) || (has(self.subjectDeleteMarkerTTL) && duration(self.subjectDeleteMarkerTTL) > duration('0s')))",message="allowMsgSchedules and subjectDeleteMarkerTTL need allowRollup: leave it out or set it to true"
	// +kubebuilder:validation:XValidation:rule="!(has(self.allowMsgTTL) && !self.allowMsgTTL && has(self.subjectDeleteMarkerTTL) && duration(self.subjectDeleteMarkerTTL) > duration('0s'))",message="subjectDeleteMarkerTTL needs allowMsgTTL: leave it out or set it to true"
	// +kubebuilder:validation:XValidation:rule="!has(self.subjectDeleteMarkerTTL) || duration(self.subjectDeleteMarkerTTL) == duration('0s') || duration(self.subjectDeleteMarkerTTL) >= duration('1s')",message="subjectDeleteMarkerTTL must be 0s or at least 1s"
	// +kubebuilder:validation:XValidation:rule="!(has(self.allowMsgCounter) && self.allowMsgCounter) || !((has(self.discard) && self.discard == 'new') || (has(self.allowMsgTTL) && self.allowMsgTTL) || (has(self.allowMsgSchedules) && self.allowMsgSchedules) || (has(self.retention) && self.retention != 'limits') || (has(self.subjectDeleteMarkerTTL) && duration(self.subjectDeleteMarkerTTL) > duration('0s')))",message="allowMsgCounter needs discard old, retention limits and neither message TTLs nor schedules"
	// +kubebuilder:validation:XValidation:rule="!(has(self.allowMsgSchedules) && self.allowMsgSchedules && has(self.discard) && self.discard == 'new')",message="allowMsgSchedules needs discard old"
	// +kubebuilder:validation:XValidation:rule="!(has(self.sealed) && self.sealed) || !((has(self.allowMsgCounter) && self.allowMsgCounter) || (has(self.allowMsgSchedules) && self.allowMsgSchedules))",message="sealed excludes allowMsgCounter and allowMsgSchedules"
	// +kubebuilder:validation:XValidation:rule="!(has(self.persistMode) && self.persistMode == 'async') || !((has(self.storage) && self.storage != 'file') || (has(self.replicas) && self.replicas > 1) || (has(self.allowAtomicPublish) && self.allowAtomicPublish))",message="persistMode async needs file storage, one replica and no atomic publish"
	// +kubebuilder:validation:XValidation:rule="!has(self.maxAge) || duration(self.maxAge) == duration('0s') || duration(self.maxAge) >= duration('100ms')",message="maxAge must be 0s or at least 100ms"
	// +kubebuilder:validation:XValidation:rule="!has(self.duplicateWindow) || duration(self.duplicateWindow) >= duration('100ms')",message="duplicateWindow must be at least 100ms"
	// +kubebuilder:validation:XValidation:rule="!has(self.duplicateWindow) || !has(self.maxAge) || duration(self.maxAge) == duration('0s') || duration(self.duplicateWindow) <= duration(self.maxAge)",message="duplicateWindow must not be longer than maxAge"
	// +kubebuilder:validation:XValidation:rule="!has(self.subjectTransform) || (has(self.subjectTransform.destination) && size(self.subjectTransform.destination) > 0)",message="subjectTransform needs a destination"
	// +kubebuilder:validation:XValidation:rule="!(has(self.subjects) && self.subjects.exists(s, s == '>')) || (has(self.noAck) && self.noAck && (!has(self.replicas) || self.replicas == 1))",message="the subject > needs noAck and one replica"
	ForProvider StreamParameters `json:"forProvider"`
}

// A StreamObservation is the last observed state.
type StreamObservation struct {
	// Config is the effective configuration in NATS, defaults included.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *StreamParameters `json:"config,omitempty"`

	// Created is when the stream was created, as RFC 3339 writes it, to the
	// nanosecond. It distinguishes the object's stream from another one of its name,
	// should the mark of its owner be lost.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Created string `json:"created,omitempty"`

	// Messages in the stream. This and the following counters may be up to ten
	// minutes old.
	// +optional
	Messages int64 `json:"messages,omitempty"`

	// Bytes that they take.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`

	// FirstSeq is the sequence of the oldest message.
	// +optional
	FirstSeq int64 `json:"firstSeq,omitempty"`

	// LastSeq is the sequence of the newest message.
	// +optional
	LastSeq int64 `json:"lastSeq,omitempty"`

	// ConsumerCount is the number of consumers.
	// +optional
	ConsumerCount int64 `json:"consumerCount,omitempty"`

	// Cluster says where the data are. A single server does not report it.
	// +optional
	Cluster *ClusterObservation `json:"cluster,omitempty"`

	// ServerVersion is the version of the server that answered.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// A StreamStatus is the observed state.
type StreamStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the last observed state in NATS.
	// +optional
	AtProvider StreamObservation `json:"atProvider,omitzero"`
}

// A Stream is a JetStream stream. It is named as the annotation
// krateo.io/external-name says, or else as the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={managed,nats}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Stream struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StreamSpec   `json:"spec"`
	Status StreamStatus `json:"status,omitzero"`
}

// A StreamList is a list of Streams.
//
// +kubebuilder:object:root=true
type StreamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Stream `json:"items"`
}

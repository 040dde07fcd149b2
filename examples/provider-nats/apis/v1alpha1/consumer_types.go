package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// Values of the enumerations of a Consumer.
const (
	DeliverAll             = "all"
	DeliverLast            = "last"
	DeliverNew             = "new"
	DeliverByStartSequence = "byStartSequence"
	DeliverByStartTime     = "byStartTime"
	DeliverLastPerSubject  = "lastPerSubject"

	AckExplicit    = "explicit"
	AckAll         = "all"
	AckNone        = "none"
	AckFlowControl = "flowControl"

	ReplayInstant  = "instant"
	ReplayOriginal = "original"

	PriorityNone        = "none"
	PriorityPinned      = "pinnedClient"
	PriorityOverflow    = "overflow"
	PriorityPrioritized = "prioritized"
)

// A Push configures a consumer that delivers by itself.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.flowControl) && self.flowControl) || (has(self.idleHeartbeat) && duration(self.idleHeartbeat) > duration('0s'))",message="flowControl needs idleHeartbeat"
// +kubebuilder:validation:XValidation:rule="!has(self.idleHeartbeat) || duration(self.idleHeartbeat) == duration('0s') || duration(self.idleHeartbeat) >= duration('100ms')",message="idleHeartbeat must be 0s or at least 100ms"
type Push struct {
	// DeliverSubject is the subject that messages are delivered to. It can be
	// changed while it has no subscriber.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^*>\s]+$`
	DeliverSubject string `json:"deliverSubject"`

	// DeliverGroup shares the messages among the subscribers of a queue group.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	DeliverGroup *string `json:"deliverGroup,omitempty"`

	// FlowControl lets the server wait for slow subscribers. It cannot be
	// changed.
	// +optional
	FlowControl *bool `json:"flowControl,omitempty"`

	// IdleHeartbeat is how often an idle consumer gives a sign of life; 0s
	// means never. It cannot be changed.
	// +optional
	IdleHeartbeat *Duration `json:"idleHeartbeat,omitempty"`

	// RateLimitBPS is how many bits are delivered per second at the most; 0
	// means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RateLimitBPS *int64 `json:"rateLimitBPS,omitempty"`
}

// ConsumerParameters are the desired settings of a durable JetStream consumer.
type ConsumerParameters struct {
	// Stream is the name of the stream in NATS. It cannot be changed. Left out,
	// streamRef or streamSelector find it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Stream *string `json:"stream,omitempty"`

	// StreamRef names the Stream object whose stream it is.
	// +optional
	StreamRef *commonv1.NamespacedReference `json:"streamRef,omitempty"`

	// StreamSelector finds the Stream object whose stream it is by its labels.
	// +optional
	StreamSelector *commonv1.NamespacedSelector `json:"streamSelector,omitempty"`

	// Description for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`

	// DeliverPolicy says which message is the first. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=all;last;new;byStartSequence;byStartTime;lastPerSubject
	DeliverPolicy *string `json:"deliverPolicy,omitempty"`

	// OptStartSeq is the sequence to start at, for the deliver policy
	// byStartSequence. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	OptStartSeq *int64 `json:"optStartSeq,omitempty"`

	// OptStartTime is the time to start at, for the deliver policy byStartTime.
	// It cannot be changed.
	// +optional
	OptStartTime *Time `json:"optStartTime,omitempty"`

	// AckPolicy says whether and how messages are acknowledged. It cannot be
	// changed. Policy flowControl needs NATS 2.14.
	// +optional
	// +kubebuilder:validation:Enum=explicit;all;none;flowControl
	AckPolicy *string `json:"ackPolicy,omitempty"`

	// AckWait is how long an acknowledgement is waited for.
	// +optional
	AckWait *Duration `json:"ackWait,omitempty"`

	// MaxDeliver is how often a message is delivered at the most; -1 means no
	// limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxDeliver *int32 `json:"maxDeliver,omitempty"`

	// BackOff is how long an acknowledgement is waited for at the first, the
	// second, and every further delivery; the last counts for all that follow.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	BackOff []Duration `json:"backOff,omitempty"`

	// FilterSubjects of the messages to deliver. None means all messages.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	FilterSubjects []string `json:"filterSubjects,omitempty"`

	// ReplayPolicy says how fast messages are delivered. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=instant;original
	ReplayPolicy *string `json:"replayPolicy,omitempty"`

	// SamplePercent of the acknowledgements are reported in advisories.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SamplePercent *int32 `json:"samplePercent,omitempty"`

	// MaxAckPending is how many messages may be without acknowledgement at a
	// time; -1 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxAckPending *int32 `json:"maxAckPending,omitempty"`

	// HeadersOnly leaves out the body and adds its size as a header.
	// +optional
	HeadersOnly *bool `json:"headersOnly,omitempty"`

	// MaxWaiting is how many requests may wait at a time. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxWaiting *int32 `json:"maxWaiting,omitempty"`

	// MaxRequestBatch is how many messages one request may ask for; 0 means no
	// limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRequestBatch *int32 `json:"maxRequestBatch,omitempty"`

	// MaxRequestExpires is how long one request may wait; 0s means no limit.
	// +optional
	MaxRequestExpires *Duration `json:"maxRequestExpires,omitempty"`

	// MaxRequestMaxBytes is how many bytes one request may ask for; 0 means no
	// limit.
	// +optional
	MaxRequestMaxBytes *resource.Quantity `json:"maxRequestMaxBytes,omitempty"`

	// InactiveThreshold is after which time without any use NATS deletes the
	// consumer; 0s means never, unless the stream limits it. A consumer that
	// NATS has deleted is created again.
	// +optional
	InactiveThreshold *Duration `json:"inactiveThreshold,omitempty"`

	// Replicas is the number of servers that hold the state; 0 means as many as
	// hold the stream.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Replicas *int32 `json:"replicas,omitempty"`

	// MemoryStorage keeps the state in memory, whatever the stream does. It
	// cannot be changed.
	// +optional
	MemoryStorage *bool `json:"memoryStorage,omitempty"`

	// PauseUntil is until when nothing is delivered. A time in the past resumes.
	// It needs NATS 2.11.
	// +optional
	PauseUntil *Time `json:"pauseUntil,omitempty"`

	// PriorityPolicy says which of several clients gets messages first. It
	// needs NATS 2.11, and policy prioritized 2.12.
	// +optional
	// +kubebuilder:validation:Enum=none;pinnedClient;overflow;prioritized
	PriorityPolicy *string `json:"priorityPolicy,omitempty"`

	// PriorityGroups that clients can name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9/_=-]{1,16}$`
	PriorityGroups []string `json:"priorityGroups,omitempty"`

	// PinnedTTL is how long a client stays pinned without a request.
	// +optional
	PinnedTTL *Duration `json:"pinnedTTL,omitempty"`

	// Push makes the consumer deliver by itself. Without it, clients pull. It
	// cannot be given or removed later.
	// +optional
	Push *Push `json:"push,omitempty"`

	// Metadata of the consumer. Keys of the server (_nats.) and of this provider
	// are not among them.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('_nats.') && k != 'moorage.dev/owner')",message="keys that begin with _nats. and the key moorage.dev/owner are reserved"
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A ConsumerSpec is the desired state.
type ConsumerSpec struct {
	ResourceSpec `json:",inline"`

	// ForProvider is the desired consumer.
	// +kubebuilder:validation:XValidation:rule="has(self.stream) || has(self.streamRef) || has(self.streamSelector)",message="one of stream, streamRef and streamSelector must say which stream it is"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.stream) || !has(self.stream) || self.stream == oldSelf.stream",message="stream cannot be changed: a consumer belongs to its stream; delete this object and create it again"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.stream) || !has(self.stream) || !has(oldSelf.streamRef) || !has(self.streamRef) || self.streamRef.name == oldSelf.streamRef.name",message="streamRef cannot name another Stream once the stream is known: a consumer belongs to its stream; delete this object and create it again"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.deliverPolicy) || !has(self.deliverPolicy) || self.deliverPolicy == oldSelf.deliverPolicy",message="deliverPolicy cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.optStartSeq) || !has(self.optStartSeq) || self.optStartSeq == oldSelf.optStartSeq",message="optStartSeq cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.optStartTime) || !has(self.optStartTime) || self.optStartTime == oldSelf.optStartTime",message="optStartTime cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ackPolicy) || !has(self.ackPolicy) || self.ackPolicy == oldSelf.ackPolicy",message="ackPolicy cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.replayPolicy) || !has(self.replayPolicy) || self.replayPolicy == oldSelf.replayPolicy",message="replayPolicy cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.memoryStorage) || !has(self.memoryStorage) || self.memoryStorage == oldSelf.memoryStorage",message="memoryStorage cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.maxWaiting) || !has(self.maxWaiting) || self.maxWaiting == oldSelf.maxWaiting",message="maxWaiting cannot be changed"
	// +kubebuilder:validation:XValidation:rule="has(self.push) == has(oldSelf.push)",message="push cannot be given or removed later"
	// +kubebuilder:validation:XValidation:rule="!has(self.push) || !has(oldSelf.push) || !has(self.push.flowControl) || !has(oldSelf.push.flowControl) || self.push.flowControl == oldSelf.push.flowControl",message="push.flowControl cannot be changed"
	// +kubebuilder:validation:XValidation:rule="!has(self.push) || !has(oldSelf.push) || !has(self.push.idleHeartbeat) || !has(oldSelf.push.idleHeartbeat) || self.push.idleHeartbeat == oldSelf.push.idleHeartbeat",message="push.idleHeartbeat cannot be changed"
	// +kubebuilder:validation:XValidation:rule="(has(self.deliverPolicy) && self.deliverPolicy == 'byStartSequence') == has(self.optStartSeq)",message="deliverPolicy byStartSequence and optStartSeq need each other"
	// +kubebuilder:validation:XValidation:rule="(has(self.deliverPolicy) && self.deliverPolicy == 'byStartTime') == has(self.optStartTime)",message="deliverPolicy byStartTime and optStartTime need each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.deliverPolicy) || self.deliverPolicy != 'lastPerSubject' || (has(self.filterSubjects) && size(self.filterSubjects) > 0)",message="deliverPolicy lastPerSubject needs filterSubjects"
	// +kubebuilder:validation:XValidation:rule="!(has(self.backOff) && size(self.backOff) > 0) || !has(self.ackWait)",message="backOff and ackWait exclude each other: the first back-off is the wait"
	// +kubebuilder:validation:XValidation:rule="!(has(self.backOff) && has(self.maxDeliver)) || self.maxDeliver <= 0 || size(self.backOff) <= self.maxDeliver",message="backOff must not have more steps than maxDeliver"
	// +kubebuilder:validation:XValidation:rule="!(has(self.maxAckPending) && self.maxAckPending == 0)",message="maxAckPending must be -1 or at least 1"
	// +kubebuilder:validation:XValidation:rule="!has(self.maxRequestExpires) || duration(self.maxRequestExpires) == duration('0s') || duration(self.maxRequestExpires) >= duration('1ms')",message="maxRequestExpires must be 0s or at least 1ms"
	// +kubebuilder:validation:XValidation:rule="!has(self.push) || !(has(self.maxWaiting) || has(self.maxRequestBatch) || has(self.maxRequestExpires) || has(self.maxRequestMaxBytes) || has(self.priorityPolicy) && self.priorityPolicy != 'none')",message="push excludes maxWaiting, maxRequestBatch, maxRequestExpires, maxRequestMaxBytes and priorityPolicy: they are about clients that pull"
	// +kubebuilder:validation:XValidation:rule="(has(self.priorityPolicy) && self.priorityPolicy != 'none') == (has(self.priorityGroups) && size(self.priorityGroups) > 0)",message="priorityPolicy and priorityGroups need each other"
	// +kubebuilder:validation:XValidation:rule="!has(self.pinnedTTL) || (has(self.priorityPolicy) && self.priorityPolicy == 'pinnedClient')",message="pinnedTTL needs priorityPolicy pinnedClient"
	// +kubebuilder:validation:XValidation:rule="!(has(self.ackPolicy) && self.ackPolicy == 'flowControl') || (has(self.push) && has(self.maxAckPending) && self.maxAckPending > 0 && !has(self.ackWait) && !(has(self.backOff) && size(self.backOff) > 0) && (!has(self.maxDeliver) || self.maxDeliver <= 0))",message="ackPolicy flowControl needs push and maxAckPending above 0, and excludes ackWait, backOff and maxDeliver"
	// +kubebuilder:validation:XValidation:rule="!(has(self.ackPolicy) && self.ackPolicy == 'flowControl' && has(self.push)) || ((!has(self.push.flowControl) || self.push.flowControl) && (!has(self.push.idleHeartbeat) || duration(self.push.idleHeartbeat) == duration('1s')))",message="ackPolicy flowControl needs push.flowControl and an idleHeartbeat of 1s: leave them out or set them so"
	// +kubebuilder:validation:XValidation:rule="!(has(self.ackPolicy) && self.ackPolicy == 'none' && has(self.push)) || !has(self.maxAckPending) || self.maxAckPending < 0",message="maxAckPending needs an ackPolicy other than none"
	ForProvider ConsumerParameters `json:"forProvider"`
}

// A ConsumerObservation is the last observed state.
type ConsumerObservation struct {
	// Config is the effective configuration in NATS, defaults included.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *ConsumerParameters `json:"config,omitempty"`

	// Stream is the stream for which the consumer was created.
	// +optional
	Stream string `json:"stream,omitempty"`

	// Created is when the consumer was created, as RFC 3339 writes it, to the
	// nanosecond. It distinguishes the object's consumer from another one of its
	// name, should the mark of its owner be lost.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Created string `json:"created,omitempty"`

	// DeliveredSeq is the sequence, in the stream, of the message that was
	// delivered last. This and the following numbers may be up to ten minutes
	// old.
	// +optional
	DeliveredSeq int64 `json:"deliveredSeq,omitempty"`

	// AckFloorSeq is the sequence, in the stream, up to which all messages are
	// acknowledged.
	// +optional
	AckFloorSeq int64 `json:"ackFloorSeq,omitempty"`

	// Pending is how many messages are still to be delivered.
	// +optional
	Pending int64 `json:"pending,omitempty"`

	// AckPending is how many messages wait for their acknowledgement.
	// +optional
	AckPending int64 `json:"ackPending,omitempty"`

	// Redelivered is how many of them were delivered more than once.
	// +optional
	Redelivered int64 `json:"redelivered,omitempty"`

	// Waiting is how many requests wait for messages.
	// +optional
	Waiting int64 `json:"waiting,omitempty"`

	// Bound is true while the deliver subject has a subscriber.
	// +optional
	Bound bool `json:"bound,omitempty"`

	// Paused is true while nothing is delivered because of pauseUntil.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Cluster says where the state is. A single server does not report it.
	// +optional
	Cluster *ClusterObservation `json:"cluster,omitempty"`

	// ServerVersion is the version of the server that answered.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
}

// A ConsumerStatus is the observed state.
type ConsumerStatus struct {
	ResourceStatus `json:",inline"`

	// AtProvider is the last observed state in NATS.
	// +optional
	AtProvider ConsumerObservation `json:"atProvider,omitzero"`
}

// A Consumer is a durable consumer of a JetStream stream. It is named as the
// annotation krateo.io/external-name says, or else as the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={managed,nats}
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="STREAM",type="string",JSONPath=".status.atProvider.stream"
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type="string",JSONPath=".metadata.annotations.krateo\\.io/external-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Consumer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ConsumerSpec   `json:"spec"`
	Status ConsumerStatus `json:"status,omitzero"`
}

// A ConsumerList is a list of Consumers.
//
// +kubebuilder:object:root=true
type ConsumerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Consumer `json:"items"`
}

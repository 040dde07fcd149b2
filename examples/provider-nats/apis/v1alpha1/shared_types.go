package v1alpha1

// Values of the enumerations that several kinds share.
const (
	StorageFile   = "file"
	StorageMemory = "memory"

	CompressionNone = "none"
	CompressionS2   = "s2"
)

// A Placement says on which servers of NATS the data may lie.
type Placement struct {
	// Cluster that must hold the data.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Cluster string `json:"cluster,omitempty"`

	// Tags that every server that holds the data must carry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=255
	Tags []string `json:"tags,omitempty"`
}

// A SubjectTransform maps subjects that fit a pattern to others.
type SubjectTransform struct {
	// Source is the pattern that a subject must fit. Empty means every subject.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Source string `json:"source,omitempty"`

	// Destination is what it becomes; {{wildcard(1)}} and the other functions
	// of NATS refer to the wildcards of the source. As a part of mirror or
	// sources it may be empty: the source is then a filter and nothing more.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Destination string `json:"destination,omitempty"`
}

// A Republish sends every stored message on under another subject.
type Republish struct {
	// Source is the pattern of the subjects to send on. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Source string `json:"source,omitempty"`

	// Destination is the subject they are sent on under.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Destination string `json:"destination"`

	// HeadersOnly leaves out the body and adds its size as a header.
	// +optional
	HeadersOnly bool `json:"headersOnly,omitempty"`
}

// An ExternalStream is how to reach a JetStream in another account.
type ExternalStream struct {
	// APIPrefix is where the other account imports the JetStream API, for
	// example $JS.hub.API.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	APIPrefix string `json:"apiPrefix"`

	// DeliverPrefix is where messages of the other account arrive.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DeliverPrefix string `json:"deliverPrefix,omitempty"`
}

// A SourceConsumer is a durable consumer that was created in the origin for
// this purpose.
type SourceConsumer struct {
	// Name of the consumer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// DeliverSubject is where that consumer delivers to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	DeliverSubject string `json:"deliverSubject"`
}

// A Source is a stream, or for a KeyValue a bucket, that messages come from.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.external) && has(self.domain))",message="external and domain exclude each other"
// +kubebuilder:validation:XValidation:rule="!(has(self.filterSubject) && has(self.subjectTransforms))",message="filterSubject and subjectTransforms exclude each other"
// +kubebuilder:validation:XValidation:rule="!(has(self.optStartSeq) && has(self.optStartTime))",message="optStartSeq and optStartTime exclude each other"
// +kubebuilder:validation:XValidation:rule="!has(self.consumer) || !(has(self.filterSubject) || has(self.optStartSeq) || has(self.optStartTime))",message="consumer excludes filterSubject, optStartSeq and optStartTime: they belong to the consumer"
type Source struct {
	// Name of the stream or bucket.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// OptStartSeq is the sequence to start at.
	// +optional
	// +kubebuilder:validation:Minimum=1
	OptStartSeq *int64 `json:"optStartSeq,omitempty"`

	// OptStartTime is the time to start at.
	// +optional
	OptStartTime *Time `json:"optStartTime,omitempty"`

	// FilterSubject takes only messages whose subject fits.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	FilterSubject string `json:"filterSubject,omitempty"`

	// SubjectTransforms filter and rename in one go. A KeyValue source with
	// transforms is a stream, not a bucket: its full name must be given.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	SubjectTransforms []SubjectTransform `json:"subjectTransforms,omitempty"`

	// External is where the origin is, if it is in another account.
	// +optional
	External *ExternalStream `json:"external,omitempty"`

	// Domain is the JetStream domain of the origin, if it is another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Domain string `json:"domain,omitempty"`

	// Consumer to use in the origin, instead of one that NATS creates there. It
	// needs NATS 2.14.
	// +optional
	Consumer *SourceConsumer `json:"consumer,omitempty"`
}

// A ClusterObservation is where the data are.
type ClusterObservation struct {
	// Name of the cluster.
	// +optional
	Name string `json:"name,omitempty"`

	// Leader is the server that leads. Empty means that there is none now.
	// +optional
	Leader string `json:"leader,omitempty"`

	// Replicas are the servers that follow it.
	// +optional
	// +listType=atomic
	Replicas []ReplicaObservation `json:"replicas,omitempty"`
}

// A ReplicaObservation is the state of one server that follows the leader.
type ReplicaObservation struct {
	// Name of the server.
	Name string `json:"name"`

	// Current is true while the server is up to date with the leader.
	Current bool `json:"current"`

	// Offline is true while the leader cannot reach the server.
	// +optional
	Offline bool `json:"offline,omitempty"`
}

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ConditionType names one aspect of an object's state. An object has at most
// one condition of a type.
type ConditionType string

// The condition types that the runtime writes. A kind may add its own.
const (
	// TypeReady is True if the external resource can be used.
	TypeReady ConditionType = "Ready"

	// TypeSynced reports whether the last pass over the object succeeded. It
	// says nothing about readiness: a resource can be synced while it is still
	// being created.
	TypeSynced ConditionType = "Synced"

	// TypeUpToDate reports whether the external resource matches the spec. It is False while an update is in progress,
	// forbidden or failing.
	TypeUpToDate ConditionType = "UpToDate"

	// TypeCreated is True after an observation has found the external resource that was created or adopted. It is Unknown
	// while the result of a creation is unknown and a user must resolve it. The message names the resource. The
	// condition is only written if a repeated creation may create a second external resource.
	TypeCreated ConditionType = "Created"

	// TypeReconciling is True while the reconciler still makes progress without a user's action. The condition is only
	// written if the provider enables it.
	TypeReconciling ConditionType = "Reconciling"

	// TypeStalled is True while the reconciler makes no progress until a user changes something. The condition is only
	// written if the provider enables it.
	TypeStalled ConditionType = "Stalled"
)

// A ConditionReason is the reason for the status of a condition, as one CamelCase word. Programs may branch on it.
type ConditionReason string

// Reasons of TypeReady.
const (
	// ReasonAvailable: the external resource exists and can be used.
	ReasonAvailable ConditionReason = "Available"

	// ReasonUnavailable: the external resource exists but cannot be used now.
	ReasonUnavailable ConditionReason = "Unavailable"

	// ReasonCreating: the external resource is being created.
	ReasonCreating ConditionReason = "Creating"

	// ReasonDeleting: the external resource is being deleted.
	ReasonDeleting ConditionReason = "Deleting"
)

// Reasons of TypeSynced.
const (
	// ReasonReconcileSuccess: the last pass did all it had to do.
	ReasonReconcileSuccess ConditionReason = "ReconcileSuccess"

	// ReasonReconcileError: the last pass failed. The message contains the failed step and the error.
	ReasonReconcileError ConditionReason = "ReconcileError"

	// ReasonReconcilePaused: the user has paused the object.
	ReasonReconcilePaused ConditionReason = "ReconcilePaused"

	// ReasonExternalResourceNotOwned: an external resource of this name exists and belongs to another owner. The provider
	// does not change or delete it, even if the object is deleted.
	ReasonExternalResourceNotOwned ConditionReason = "ExternalResourceNotOwned"

	// ReasonAdoptionNotAllowed: an external resource of this name exists, and the object's adoption policy would adopt it.
	// The operator of the provider does not allow this policy. The provider does not change or delete the resource, even
	// if the object is deleted.
	ReasonAdoptionNotAllowed ConditionReason = "AdoptionNotAllowed"

	// ReasonInvalidManagementPolicy: a policy of the object has an unknown value. The external system is not called until
	// a user corrects the policy.
	ReasonInvalidManagementPolicy ConditionReason = "InvalidManagementPolicy"

	// ReasonExternalResourceMissing: the external resource does not exist, and
	// the object's policy forbids to create it.
	ReasonExternalResourceMissing ConditionReason = "ExternalResourceMissing"

	// ReasonRecreationNotRequested: the external resource existed and does not exist any more. It is created again only if
	// a user requests it.
	ReasonRecreationNotRequested ConditionReason = "RecreationNotRequested"

	// ReasonCreationUnresolved: a creation was interrupted, and it is unknown
	// whether it took effect. Repeating it might create a second resource, so a
	// user has to decide.
	ReasonCreationUnresolved ConditionReason = "CreationUnresolved"

	// ReasonReferenceNotReady: the object refers to another object that does not exist, or does not have the referenced
	// value yet.
	ReasonReferenceNotReady ConditionReason = "ReferenceNotReady"

	// ReasonReferenceRefused: the object may not refer to the referenced object.
	ReasonReferenceRefused ConditionReason = "ReferenceRefused"

	// ReasonConnectionSecretNotOwned: the Secret that the object names for its connection details belongs to another
	// owner. The provider does not change it. If the Secret has no controller, the message explains how to assign the
	// Secret to the object.
	ReasonConnectionSecretNotOwned ConditionReason = "ConnectionSecretNotOwned"

	// ReasonBackendChanged: the connection leads to another external system than the one that has the resource. The other
	// external system is not called until the user allows it.
	ReasonBackendChanged ConditionReason = "BackendChanged"

	// ReasonMarksNotStored: the API server accepted a write, but did not store all marks in the write: the annotations,
	// the finalizer or the labels of an initializer. Without these marks, nothing may be created. An admission webhook, a
	// policy or a proxy removes the marks.
	ReasonMarksNotStored ConditionReason = "MarksNotStored"

	// ReasonClientPanicked: a function of the provider panicked, which is a defect of the provider. The function is a
	// method of the provider's client for the external system, or an option of the reconciler.
	ReasonClientPanicked ConditionReason = "ClientPanicked"

	// ReasonCallOverdue: a function of the provider has not returned although its deadline has passed, which is a defect
	// of the provider. The function is a method of the provider's client for the external system, or an option of the
	// reconciler.
	ReasonCallOverdue ConditionReason = "CallOverdue"

	// ReasonThrottled: the external system, or the configured limit of requests to it, allows fewer requests than are
	// needed.
	ReasonThrottled ConditionReason = "Throttled"

	// ReasonUnauthorized: the external system does not accept the credentials.
	ReasonUnauthorized ConditionReason = "Unauthorized"

	// ReasonExternalSystemUnavailable: the external system does not work at the moment, for all of its resources.
	ReasonExternalSystemUnavailable ConditionReason = "ExternalSystemUnavailable"

	// ReasonCreationPending: the external resource was created, but no observation has found it yet. The status of the
	// condition is Unknown.
	ReasonCreationPending ConditionReason = "CreationPending"
)

// ReasonObserved is the reason of TypeCreated: an observation has found the
// external resource.
const ReasonObserved ConditionReason = "Observed"

// ReasonUnresolved is a reason of TypeCreated. The result of a creation is unknown, or no observation has found the
// resource. The message of TypeSynced asks the user to resolve the creation. The status of TypeCreated is Unknown.
const ReasonUnresolved ConditionReason = "Unresolved"

// ReasonGivenUp is a reason of TypeCreated: a user has declared that it is safe to create the resource again. The
// status of TypeCreated is False.
const ReasonGivenUp ConditionReason = "GivenUp"

// Reasons of TypeUpToDate.
const (
	// ReasonObserveMatched: the external resource matches the spec.
	ReasonObserveMatched ConditionReason = "ObserveMatched"

	// ReasonUpdateRequested: an update was accepted and is not visible yet.
	ReasonUpdateRequested ConditionReason = "UpdateRequested"

	// ReasonUpdateRestricted: the resource differs, and the object's policy
	// forbids to update it.
	ReasonUpdateRestricted ConditionReason = "UpdateRestricted"

	// ReasonUpdateFailed: the resource differs, and updating it failed.
	ReasonUpdateFailed ConditionReason = "UpdateFailed"
)

// A Condition is the observed state of one aspect of an object. The zero value
// is not a valid condition: Type, Status and Reason are required.
type Condition struct {
	// Type of this condition. At most one of each type applies to an object.
	Type ConditionType `json:"type"`

	// Status of this condition: True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// Reason for the status, one CamelCase word.
	Reason ConditionReason `json:"reason"`

	// Message with details for a human, if there are any.
	// +optional
	Message string `json:"message,omitempty"`

	// ObservedGeneration is the metadata.generation that this condition was
	// computed from. Zero means that it is not known.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Equal reports whether both conditions have the same type, status, reason and message. If both conditions have an
// ObservedGeneration, Equal compares their generations too. LastTransitionTime is ignored.
func (c Condition) Equal(other Condition) bool {
	return c.Type == other.Type &&
		c.Status == other.Status &&
		c.Reason == other.Reason &&
		c.Message == other.Message &&
		(c.ObservedGeneration == other.ObservedGeneration || c.ObservedGeneration == 0 || other.ObservedGeneration == 0)
}

// WithMessage returns a copy of the condition with the supplied message.
func (c Condition) WithMessage(msg string) Condition {
	c.Message = msg

	return c
}

// Creating returns a Ready condition that is False because the external
// resource is being created.
func Creating() Condition {
	return now(TypeReady, metav1.ConditionFalse, ReasonCreating)
}

// Deleting returns a Ready condition that is False because the external
// resource is being deleted.
func Deleting() Condition {
	return now(TypeReady, metav1.ConditionFalse, ReasonDeleting)
}

// Available returns a Ready condition that is True, because the external resource exists and can be used.
func Available() Condition {
	return now(TypeReady, metav1.ConditionTrue, ReasonAvailable)
}

// Unavailable returns a Ready condition that is False because the external resource exists but cannot be used. Add the
// cause with WithMessage.
func Unavailable() Condition {
	return now(TypeReady, metav1.ConditionFalse, ReasonUnavailable)
}

// ReconcileSuccess returns a Synced condition that is True, because the last pass has done everything it had to do.
func ReconcileSuccess() Condition {
	return now(TypeSynced, metav1.ConditionTrue, ReasonReconcileSuccess)
}

// ReconcileError returns a Synced condition that is False because of err. The text of err is the message, unchanged. If
// err is nil, the message is empty. Redact and shorten the text before you store the condition, as the managed
// reconciler does.
func ReconcileError(err error) Condition {
	c := now(TypeSynced, metav1.ConditionFalse, ReasonReconcileError)
	if err != nil {
		c.Message = err.Error()
	}

	return c
}

// ReconcilePaused returns a Synced condition that is False because the object
// is paused.
func ReconcilePaused() Condition {
	return now(TypeSynced, metav1.ConditionFalse, ReasonReconcilePaused)
}

func now(t ConditionType, s metav1.ConditionStatus, r ConditionReason) Condition {
	return Condition{Type: t, Status: s, LastTransitionTime: metav1.Now(), Reason: r}
}

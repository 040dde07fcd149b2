package serviceprovider

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and phases.
const (
	// ServiceProviderConditionReady is True while the service can be used.
	ServiceProviderConditionReady = "Ready"

	// ConditionClusterAccessReady is True while there is access to all clusters.
	ConditionClusterAccessReady = "ClusterAccessReady"

	// ConditionServiceCreated is True if CreateOrUpdate was called, or may have been called. A deletion sets the condition
	// to False before the deletion releases access. While the condition is True, a deletion calls Delete. If the
	// AccessRequests were deleted in the meantime, the deletion first requests access again.
	ConditionServiceCreated = "ServiceCreated"

	// ConditionDeletionBlocked is True while a deletion waits for a change by a user or an
	// administrator.
	ConditionDeletionBlocked = "DeletionBlocked"

	// ConditionSynced is False while an object is paused. It becomes True when the object is no longer paused.
	ConditionSynced = "Synced"

	// StatusPhaseReady is the phase of a service that can be used.
	StatusPhaseReady = "Ready"

	// StatusPhaseProgressing is the phase of a service that is being created or updated.
	StatusPhaseProgressing = "Progressing"

	// StatusPhaseTerminating is the phase of a service that is being deleted.
	StatusPhaseTerminating = "Terminating"
)

// Reasons of the conditions.
const (
	ReasonReconcileError          = "ReconcileError"
	ReasonReconciling             = "Reconciling"
	ReasonReconcileSuccess        = "ReconcileSuccess"
	ReasonTerminating             = "Terminating"
	ReasonReconcilePaused         = "ReconcilePaused"
	ReasonWaitingForClusterAccess = "WaitingForClusterAccess"
	ReasonClusterAccessDenied     = "ClusterAccessDenied"
	ReasonClusterAccessFailed     = "ClusterAccessFailed"
	ReasonClusterAccessNotOwned   = "ClusterAccessNotOwned"
	ReasonClusterGone             = "ClusterGone"
	ReasonConfigMissing           = "ConfigMissing"
	ReasonGranted                 = "Granted"
	ReasonCreated                 = "Created"
	ReasonNotCreated              = "NotCreated"
	ReasonDeleted                 = "Deleted"
	ReasonOrphaned                = "Orphaned"
)

// StatusProgressing reports that the service is not ready and is being reconciled. It sets the condition Ready, the
// phase and the observed generation. It does not change conditions of other types.
func StatusProgressing(obj API, reason, message string) {
	setStatus(obj, metav1.ConditionFalse, reason, message, StatusPhaseProgressing)
}

// StatusReady reports that the service can be used.
func StatusReady(obj API) {
	setStatus(obj, metav1.ConditionTrue, ReasonReconcileSuccess, "Domain Service is ready", StatusPhaseReady)
}

// StatusTerminating reports that the service is being deleted.
func StatusTerminating(obj API) {
	StatusTerminatingWithReason(obj, ReasonTerminating, "Cleanup in progress")
}

// StatusTerminatingWithReason reports that the service is being deleted. The message says what the deletion waits for.
func StatusTerminatingWithReason(obj API, reason, message string) {
	setStatus(obj, metav1.ConditionFalse, reason, message, StatusPhaseTerminating)
}

// setStatus sets Ready, the phase and the observed generation.
func setStatus(obj API, ready metav1.ConditionStatus, reason, message, phase string) {
	setCondition(obj, ServiceProviderConditionReady, ready, reason, message)
	obj.SetPhase(phase)
	obj.SetObservedGeneration(obj.GetGeneration())
}

// setCondition sets one condition, with the generation of the object.
func setCondition(obj API, t string, s metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(obj.GetConditions(), metav1.Condition{
		Type: t, Status: s, Reason: reason, Message: message, ObservedGeneration: obj.GetGeneration(),
	})
}

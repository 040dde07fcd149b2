package serviceprovider

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and phases.
const (
	// ServiceProviderConditionReady says whether the service can be used.
	ServiceProviderConditionReady = "Ready"

	// ConditionClusterAccessReady says whether there is access to the clusters.
	ConditionClusterAccessReady = "ClusterAccessReady"

	// ConditionServiceCreated is True once CreateOrUpdate was called, or that is not known,
	// and False again before a deletion gives access back. While it is True, a deletion calls Delete, also if
	// access has to be asked for anew, whoever has deleted the requests.
	ConditionServiceCreated = "ServiceCreated"

	// ConditionDeletionBlocked is True while a deletion waits for something that does
	// not come by itself.
	ConditionDeletionBlocked = "DeletionBlocked"

	// ConditionSynced is False while an object is paused, and True again after that.
	ConditionSynced = "Synced"

	// StatusPhaseReady is the phase of a service that can be used.
	StatusPhaseReady = "Ready"

	// StatusPhaseProgressing is that of a service that is created or updated.
	StatusPhaseProgressing = "Progressing"

	// StatusPhaseTerminating is that of a service that is deleted.
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

// StatusProgressing says that the service is not ready, and is being worked on. Other
// conditions than Ready stay as they are, here and in the other functions.
func StatusProgressing(obj API, reason, message string) {
	say(obj, metav1.ConditionFalse, reason, message, StatusPhaseProgressing)
}

// StatusReady says that the service can be used.
func StatusReady(obj API) {
	say(obj, metav1.ConditionTrue, ReasonReconcileSuccess, "Domain Service is ready", StatusPhaseReady)
}

// StatusTerminating says that the service is being removed.
func StatusTerminating(obj API) {
	StatusTerminatingWithReason(obj, ReasonTerminating, "Cleanup in progress")
}

// StatusTerminatingWithReason says that the service is being removed, and what keeps it.
func StatusTerminatingWithReason(obj API, reason, message string) {
	say(obj, metav1.ConditionFalse, reason, message, StatusPhaseTerminating)
}

func say(obj API, ready metav1.ConditionStatus, reason, message, phase string) {
	condition(obj, ServiceProviderConditionReady, ready, reason, message)
	obj.SetPhase(phase)
	obj.SetObservedGeneration(obj.GetGeneration())
}

func condition(obj API, t string, s metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(obj.GetConditions(), metav1.Condition{
		Type: t, Status: s, Reason: reason, Message: message, ObservedGeneration: obj.GetGeneration(),
	})
}

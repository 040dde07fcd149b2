package statuspage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A state is what the conditions of an object say, in one word. States are sorted: the first need attention most.
type state int

const (
	failing  state = iota // the last pass failed, or needs a person
	waiting               // for another object, or for the external system
	deleting              // the external resource is not gone yet
	differs               // the external resource is not as desired
	notReady              // the external resource cannot be used yet, or now
	pending               // no pass has ended yet
	paused                // a user has paused it
	well
	states // their number
)

// stateNames are the names of states in the page and its links.
var stateNames = [states]string{"Failing", "Waiting", "Deleting", "Differs", "NotReady", "Pending", "Paused", "Well"}

// String returns the name of the state.
func (s state) String() string { return stateNames[s] }

// waitingReasons are reasons of Synced with which an object waits for what others do.
var waitingReasons = map[commonv1.ConditionReason]bool{
	commonv1.ReasonReferenceNotReady: true, commonv1.ReasonThrottled: true, commonv1.ReasonCreationPending: true,
	commonv1.ReasonExternalSystemUnavailable: true, commonv1.ReasonUnauthorized: true,
}

// stateOf returns the state of an object, and the condition that it follows from. The condition has no type if none is
// the cause.
func stateOf(mg resource.Managed) (state, commonv1.Condition) {
	synced, ready := mg.GetCondition(commonv1.TypeSynced), mg.GetCondition(commonv1.TypeReady)
	current := mg.GetCondition(commonv1.TypeUpToDate)
	stalled := mg.GetCondition(commonv1.TypeStalled)
	switch {
	case synced.Reason == commonv1.ReasonReconcilePaused:
		return paused, synced
	case waitingReasons[synced.Reason]:
		return waiting, synced
	case synced.Status == metav1.ConditionFalse:
		return failing, synced
	case stalled.Status == metav1.ConditionTrue:
		return failing, stalled
	case mg.GetDeletionTimestamp() != nil:
		return deleting, ready
	case current.Status == metav1.ConditionFalse:
		return differs, current
	case synced.Reason == "" && ready.Reason == "":
		return pending, commonv1.Condition{}
	case ready.Status != metav1.ConditionTrue:
		return notReady, ready
	default:
		return well, ready
	}
}

// since returns from when on an object is in its state.
func since(mg resource.Managed, cause commonv1.Condition) time.Time {
	if cause.LastTransitionTime.IsZero() {
		return mg.GetCreationTimestamp().Time
	}

	return cause.LastTransitionTime.Time
}

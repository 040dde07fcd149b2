package managed

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// An outcome is how a pass ends. The table outcomes has all of them. The zero value of a condition leaves the condition
// unchanged.
type outcome struct {
	name string // in metrics and spans

	// The decision that ends a pass with this outcome. All are zero if code refers to the row of the outcome.
	admission  lifecycle.Admission
	action     lifecycle.Action
	conclusion lifecycle.Conclusion

	prefix string // before the error of a failure

	ready    commonv1.Condition
	synced   commonv1.Condition
	upToDate commonv1.Condition // only shown once something differed, or if the kind is meant for tools
	event    event.Event        // emitted if the conditions did not say so before
	requeue  requeue
	after    time.Duration // exactly, if it is not zero
	progress progress
	silent   bool // nothing was tried: the status is not written
	// unfinished is true if the request of the user was not tried, for a reason outside of the object.
	unfinished bool
	refine     func(*pass, outcome) outcome // adds what depends on the object
}

// A row is the index of an outcome in the table outcomes. The zero value is no outcome.
type row int

// The outcomes of admissions.
const (
	postponed row = iota + 1
	paused
	rejected
	ignored
	unclaimed
	orphaned
)

// The outcomes of actions, and of the code that executes them.
const (
	kept row = iota + orphaned + 1
	tolerated
	awaitingEffect
	awaitingExistence
	taken
	missing
	awaitingRequest
	refused
	disowned
	recordRestored
	awaitingFinalizers
	awaitingGone
	finalized
	abandonedResource
	operating
	awaitingList
	listing
	listedOtherwise
)

// The outcomes of failures. Each but held and awaitingReference is a stage of a pass. [row.failed] makes an error of a
// stage.
const (
	connecting row = iota + listedOtherwise + 1
	initializing
	resolving
	publishing
	awaitingCollection // of a Secret of a deleted object that had the name of this object
	observing
	creating
	updating
	deleting
	finalizing
	removingFinalizer
	updatingObject
	recordingIntent
	recording
	rereading
	unexpected
	held
	awaitingReference
)

// The outcomes of conclusions. They are silent: the status is not written.
const (
	conflicted row = iota + awaitingReference + 1
	fenced
	awaitingCause
	interrupted

	lastRow = interrupted
)

// outcomes is the table of all ends of a pass.
var outcomes = [lastRow + 1]outcome{
	postponed: {name: "postponed", admission: lifecycle.Defer, requeue: spread},
	paused: {
		name: "paused", admission: lifecycle.Pause, synced: commonv1.ReconcilePaused(),
		event:   event.Normal(reasonPaused, "Reconciliation is paused via the pause annotation"),
		requeue: resync, progress: halting,
	},
	rejected:  {name: "rejected", admission: lifecycle.Reject, requeue: resync, progress: stuck},
	ignored:   {name: "rested", admission: lifecycle.Ignore, requeue: resync},
	unclaimed: {name: "rested", requeue: never}, // the finalizer of an author was removed from an ignored object
	orphaned:  {name: "orphaned", admission: lifecycle.Orphan, requeue: never},

	kept: {
		name: "kept", action: lifecycle.Keep, synced: commonv1.ReconcileSuccess(),
		upToDate: upToDate(metav1.ConditionTrue, commonv1.ReasonObserveMatched), requeue: poll,
	},
	tolerated: {
		name: "tolerated", action: lifecycle.Tolerate, synced: commonv1.ReconcileSuccess(),
		upToDate: upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateRestricted).WithMessage(textTolerated),
		requeue:  poll,
	},
	awaitingEffect: {
		name: "awaiting-effect", action: lifecycle.AwaitEffect, synced: commonv1.ReconcileSuccess(),
		upToDate: upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateRequested), requeue: backoff, progress: moving,
	},
	awaitingExistence: {
		name: "awaiting-existence", action: lifecycle.AwaitExistence, ready: commonv1.Creating(),
		synced:  creationPending("created; waiting until the external system shows it"),
		event:   event.Normal(reasonPending, "Waiting for external resource existence to be confirmed"),
		requeue: untilGrace, progress: moving,
	},
	taken: {name: "taken", ready: commonv1.Creating(), requeue: backoff, progress: stuck},
	missing: {
		name: "missing", action: lifecycle.ReportMissing,
		synced: unsynced(commonv1.ReasonExternalResourceMissing, textMissing),
		event:  event.Warning(reasonMissing, errors.New(textMissing)), requeue: poll, progress: stuck,
	},
	awaitingRequest: {name: "awaiting-request", requeue: poll, progress: stuck},
	refused: {
		name: "refused", action: lifecycle.AskUser, ready: commonv1.Creating(), requeue: resync, progress: stuck,
	},
	disowned: {
		name: "disowned", action: lifecycle.ReportNotOwned, ready: commonv1.Unavailable(), requeue: poll, progress: stuck,
	},
	recordRestored: {name: "record-restored", action: lifecycle.RestoreRecord, requeue: backoff, progress: moving},
	awaitingFinalizers: {
		name: "awaiting-finalizers", action: lifecycle.AwaitFinalizers, ready: commonv1.Deleting(),
		requeue: backoff, progress: moving,
	},
	awaitingGone: {
		name: "awaiting-gone", action: lifecycle.AwaitGone, ready: commonv1.Deleting(),
		synced: commonv1.ReconcileSuccess(), requeue: adaptive, progress: moving,
	},
	finalized: {name: "finalized", action: lifecycle.RemoveFinalizer, requeue: never},
	abandonedResource: {
		name: "released", action: lifecycle.Abandon, requeue: never, event: event.Normal(reasonNotOwned,
			"The external resource belongs to another owner and was left as it is"),
	},
	operating:    {name: "in-progress", requeue: adaptive, progress: moving},
	awaitingList: {name: "awaiting-list", action: lifecycle.AwaitList, silent: true},
	// The list may have used up the time of the object.
	listing: {name: "listing", after: time.Millisecond, silent: true},
	listedOtherwise: {
		name: "listed-otherwise", action: lifecycle.ObserveAlone, after: time.Millisecond, silent: true,
	},

	connecting:         failing("connect-failed", "connect failed", reasonCannotConnect),
	initializing:       failing("initialize-failed", "cannot initialize managed resource", reasonCannotInitialize),
	resolving:          failing("resolve-failed", "cannot resolve references", reasonCannotResolve),
	publishing:         failing("publish-failed", "cannot publish connection details", reasonCannotPublish),
	awaitingCollection: failing("publish-failed", "", reasonCannotPublish).again(backoffToResync),
	observing:          failing("observe-failed", "observe failed", reasonCannotObserve),
	creating:           failing("create-failed", "create failed", reasonCannotCreate).while(commonv1.Creating()),
	updating:           failing("update-failed", "update failed", reasonCannotUpdate).differing(),
	deleting:           failing("delete-failed", "delete failed", reasonCannotDelete).while(commonv1.Deleting()),
	finalizing:         failing("finalizer-failed", "", reasonCannotUpdateManaged),
	removingFinalizer:  failing("let-go-failed", "", reasonCannotUpdateManaged).while(commonv1.Deleting()),
	updatingObject:     failing("store-failed", "cannot update managed resource", reasonCannotUpdateManaged),
	recordingIntent: failing("intent-failed", "cannot update managed resource",
		reasonCannotUpdateManaged).while(commonv1.Creating()),
	recording: failing("result-failed", "cannot update managed resource annotations",
		reasonCannotUpdateManaged).while(commonv1.Creating()),
	// The process that reconciles the object now may have reported Ready.
	rereading:         failing("result-failed", "cannot update managed resource annotations", reasonCannotUpdateManaged),
	unexpected:        failing("failed", "", reasonCannotInitialize),
	held:              {name: "held", requeue: backoff, progress: moving, unfinished: true},
	awaitingReference: {name: "awaiting-reference", requeue: resync, progress: moving},

	conflicted:    {name: "conflict", conclusion: lifecycle.RequeueConflict, requeue: backoffOfQueue},
	fenced:        {name: "fenced", conclusion: lifecycle.Fence, requeue: backoffOfQueue},
	awaitingCause: {name: "awaiting-cause", conclusion: lifecycle.AwaitChange, requeue: untilChange},
	interrupted:   {name: "interrupted", conclusion: lifecycle.Interrupt, requeue: backoffOfQueue},
}

// The outcomes by the decision that ends a pass with them. Actions without an outcome do not end a pass.
var (
	unadmitted = indexed(func(o outcome) lifecycle.Admission { return o.admission })
	endings    = indexed(func(o outcome) lifecycle.Action { return o.action })
	concluded  = indexed(func(o outcome) lifecycle.Conclusion { return o.conclusion })
)

// indexed returns the outcomes for which key is not zero, by that key. Each has its refinement.
func indexed[K comparable](key func(outcome) K) map[K]outcome {
	var zero K
	out := map[K]outcome{}
	for r, o := range outcomes {
		if k := key(o); k != zero {
			o.refine = refinements[row(r)]
			out[k] = o
		}
	}

	return out
}

// outcomeNames returns the names of all outcomes, without repetitions.
func outcomeNames() (names []string) {
	for _, o := range outcomes[1:] {
		names = append(names, o.name)
	}
	slices.Sort(names)

	return slices.Compact(names)
}

// failing returns the outcome of a failure. The queue backs off. The outcome determines the requeue only if the error
// is terminal.
func failing(name, prefix string, reason event.Reason) outcome {
	return outcome{
		name: name, prefix: prefix, event: event.Event{Type: event.TypeWarning, Reason: reason},
		requeue: resync, progress: moving,
	}
}

// while returns the outcome with the condition Ready.
func (o outcome) while(ready commonv1.Condition) outcome {
	o.ready = ready

	return o
}

// again returns the outcome with the policy of the next pass after a terminal error.
func (o outcome) again(requeue requeue) outcome {
	o.requeue = requeue

	return o
}

// differing returns the outcome of a failure after which the external resource still differs.
func (o outcome) differing() outcome {
	o.upToDate = upToDate(metav1.ConditionFalse, commonv1.ReasonUpdateFailed)

	return o
}

func unsynced(reason commonv1.ConditionReason, message string) commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse, Reason: reason, Message: message,
	}
}

// creationPending returns the condition Synced while it is unknown whether the external resource exists.
func creationPending(message string) commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionUnknown, Reason: commonv1.ReasonCreationPending,
		Message: message,
	}
}

func upToDate(status metav1.ConditionStatus, reason commonv1.ConditionReason) commonv1.Condition {
	return commonv1.Condition{Type: commonv1.TypeUpToDate, Status: status, Reason: reason}
}

package managed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithKstatusConditions adds the conditions Reconciling and Stalled, by which
// tools that know nothing of the kind (kstatus, and what is built on it) tell
// whether to wait or to call a human. The default is not to. Tools also want
// status.observedGeneration, see commonv1.ObservedStatus.
func WithKstatusConditions() ReconcilerOption {
	return func(r *Reconciler) { r.kstatus = true }
}

// Progress is whether something still happens to an object.
type progress int

const (
	settled progress = iota // nothing is expected to happen
	moving                  // it is on its way
	stuck                   // it needs a human
	halting                 // it was told not to move
)

// setProgress puts the progress into the conditions. Nobody waits for a poll, so that one
// which is held back leaves them as they are: a connection that is asked for too much
// would otherwise have each of its objects written, and written back.
func (p *object) setProgress(o outcome) {
	if !p.r.kstatus || o.unfinished && p.priority != lifecycle.User {
		return
	}
	set := func(t commonv1.ConditionType, is bool) {
		c := commonv1.Condition{Type: t, Status: metav1.ConditionFalse, Reason: commonv1.ReasonReconcileSuccess}
		switch {
		case o.progress == halting:
			c.Reason = commonv1.ReasonReconcilePaused
		case is:
			// The message of Synced says it already.
			c.Status, c.Reason = metav1.ConditionTrue, p.progressReason()
		}
		p.setCondition(c)
	}
	set(commonv1.TypeReconciling, o.progress == moving)
	set(commonv1.TypeStalled, o.progress == stuck)
}

// progressReason returns the reason that tells most about an object that is not settled.
func (p *object) progressReason() commonv1.ConditionReason {
	for _, t := range []commonv1.ConditionType{commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeReady} {
		if c := p.mg.GetCondition(t); c.Reason != "" && c.Status != metav1.ConditionTrue {
			return c.Reason
		}
	}

	return commonv1.ReasonReconcileSuccess
}

package managed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithKstatusConditions adds the conditions Reconciling and Stalled to each object. Tools that do not know the kind,
// such as kstatus and tools built on it, decide by these conditions whether to wait or to alert. The default is not
// to add them. Such tools also need status.observedGeneration, see commonv1.ObservedStatus.
func WithKstatusConditions() ReconcilerOption {
	return func(r *Reconciler) { r.kstatus = true }
}

// progress is the state of an object in terms of kstatus.
type progress int

const (
	settled progress = iota // no change is expected
	moving                  // work is under way
	stuck                   // a person has to act
	halting                 // the object is stopped on request
)

// setProgress sets the conditions of kstatus at the end of a pass. A throttled poll does not change them, because no
// user waits for it. Otherwise a throttled connection would cause two status writes for each of its objects.
func (p *object) setProgress(o outcome) {
	if !o.unfinished || p.priority == lifecycle.User {
		p.setKstatus(o.progress)
	}
}

// setKstatus sets the conditions of kstatus, if the option is set.
func (p *object) setKstatus(now progress) {
	if !p.r.kstatus {
		return
	}
	set := func(t commonv1.ConditionType, is bool) {
		c := commonv1.Condition{Type: t, Status: metav1.ConditionFalse, Reason: commonv1.ReasonReconcileSuccess}
		switch {
		case now == halting:
			c.Reason = commonv1.ReasonReconcilePaused
		case is:
			// Synced has the message already.
			c.Status, c.Reason = metav1.ConditionTrue, p.progressReason()
		}
		p.setCondition(c)
	}
	set(commonv1.TypeReconciling, now == moving)
	set(commonv1.TypeStalled, now == stuck)
}

// progressReason returns the most specific reason of an object that is not settled.
func (p *object) progressReason() commonv1.ConditionReason {
	for _, t := range []commonv1.ConditionType{commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeReady} {
		if c := p.mg.GetCondition(t); c.Reason != "" && c.Status != metav1.ConditionTrue {
			return c.Reason
		}
	}

	return commonv1.ReasonReconcileSuccess
}

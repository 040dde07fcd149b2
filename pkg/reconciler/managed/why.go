package managed

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/explain"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// Explanations are made only for a debug line, for the answer to a request, and when an Inspector is asked.

// why explains the last decision of a pass, from the facts that the decision was made from.
func why(p *pass) explain.Reason {
	return whyFrom(p.lastAdmitted, p.lastFacts)
}

// whyFrom explains the last decision of a pass that has ended, from what it was made from.
func whyFrom(admitted lifecycle.AdmitFacts, facts lifecycle.Facts) explain.Reason {
	if admission := explain.Admit(admitted); admission.Result != lifecycle.Reconcile {
		return admission.Reason
	}

	return explain.Decide(facts).Reason
}

// logDecision logs the last decision of a pass, an admission or an action, with the reason for it.
func logDecision(p *pass) {
	if logging.DebugEnabled(p.r.log) {
		logReason(p.log(), why(p))
	}
}

// logConclusion logs how a pass ends, with the reason for it.
func logConclusion(p *pass, f lifecycle.ConcludeFacts) {
	if logging.DebugEnabled(p.r.log) {
		logReason(p.log(), explain.Conclude(f).Reason)
	}
}

// logAdmission logs an admission that was decided before a pass began, with the reason for it.
func logAdmission(log logging.Logger, of reconcile.Request, f lifecycle.AdmitFacts) {
	if logging.DebugEnabled(log) {
		logReason(log.WithValues("object", of.String()), explain.Admit(f).Reason)
	}
}

func logReason(log logging.Logger, why explain.Reason) {
	log.Debug("Decided", "action", why.Result, "because", why.String())
}

// maxAnswer is the maximum length of an answer, in bytes. It leaves room for the text that tools add to an event.
const maxAnswer = 768

// answerRequest completes the event that answers a request for a reconcile: how the pass ended, why, and when the next
// reconcile is. It does nothing for a pass without a request.
func answerRequest(p *pass, e end, n next) {
	if p.requested == "" {
		return
	}
	for i := range p.events {
		if p.events[i].Reason == reasonRequestHandled {
			p.events[i].Message = p.mask().Long(answerText(p, e, n), maxAnswer)
		}
	}
}

// answerText returns the answer in one line. The parts of a known length come first, because the mask truncates the
// text.
func answerText(p *pass, e end, n next) string {
	last := why(p)
	parts := []string{textRequestHandled + ": " + last.Result + ".", last.String()}
	switch {
	case n.after > 0:
		parts = append(parts, "The next reconcile is in "+rounded(n.after).String()+".")
	case n.err != nil:
		parts = append(parts, "The reconcile is retried with backoff.")
	}
	if e.outcome.upToDate.Status == metav1.ConditionFalse {
		parts = append(parts, said(p.mg.GetCondition(commonv1.TypeUpToDate)))
	}
	parts = append(parts, said(e.outcome.synced))
	if e.statusErr != nil && n.err != nil {
		parts = append(parts, n.err.Error())
	}

	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// said returns what a condition says, or "" if it has no message.
func said(c commonv1.Condition) string {
	if c.Message == "" {
		return ""
	}

	return string(c.Type) + ": " + strings.TrimSuffix(c.Message, ".") + "."
}

// rounded returns a delay without more digits than a reader needs.
func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return max(d.Round(time.Millisecond), time.Millisecond)
	}

	return d.Round(time.Second)
}

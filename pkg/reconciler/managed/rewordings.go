package managed

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// How often within a period a failure is reported with a changed message. Many systems put a unique word into each
// error, such as the id of a request: if each of them led to a status write and an event, every retry of a failing
// object would write.
const (
	mostRewordings  = 5
	rewordingPeriod = time.Hour
)

// reworded keeps the reported message if the failure is the same except for its words, and these have changed often
// enough within the period. Another stage, reason, generation or request is another failure, which is reported at
// once.
func (p *object) reworded(o outcome) outcome {
	if concernsConnection(o.synced.Reason) {
		return p.reportedOutage(o)
	}
	of := fmt.Sprintf("%s/%s/%d/%s", o.name, o.synced.Reason, p.generation,
		p.mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt])
	if known := p.state.Reworded; known.Of != of || p.now().Sub(known.Since) >= rewordingPeriod {
		p.state.Reworded = objectstate.Rewordings{Of: of, Since: p.now()}

		return o
	}
	condition := p.read.GetCondition(commonv1.TypeSynced)
	if p.state.Reworded.Count >= mostRewordings && condition.Status == metav1.ConditionFalse &&
		condition.Reason == o.synced.Reason {
		o.synced.Message, o.event = condition.Message, event.Event{}
	}

	return o
}

// concernsConnection reports whether a reason is a state of the whole connection, which is one fact: the errors of a
// broken network have alternating texts, and different calls fail.
func concernsConnection(reason commonv1.ConditionReason) bool {
	for _, c := range failureClasses {
		if c.shared && c.reason == reason && reason != "" {
			return true
		}
	}

	return false
}

// reportedOutage keeps the reported message of a failure that concerns the connection, whichever call fails. The
// condition gets the new message once in each period, without an event. Another generation or request is another
// failure, which is reported at once.
func (p *object) reportedOutage(o outcome) outcome {
	of := fmt.Sprintf("%s/%d/%s", o.synced.Reason, p.generation,
		p.mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt])
	known, condition := p.state.Reworded, p.read.GetCondition(commonv1.TypeSynced)
	restarted := known.Of == ""
	if restarted || known.Of != of {
		p.state.Reworded = objectstate.Rewordings{Of: of, Since: p.now()}
	}
	if condition.Status != metav1.ConditionFalse || condition.Reason != o.synced.Reason ||
		condition.ObservedGeneration != p.generation || known.Of != of && !restarted {
		return o
	}
	o.event = event.Event{}
	if p.now().Sub(p.state.Reworded.Since) >= rewordingPeriod {
		p.state.Reworded.Since = p.now()
	} else {
		o.synced.Message = condition.Message
	}

	return o
}

// rewordings returns how often the message of a failure has changed, once the status is written, or could not be.
func (p *object) rewordings(unwritten error) objectstate.Rewordings {
	before, now := p.read.GetCondition(commonv1.TypeSynced), p.mg.GetCondition(commonv1.TypeSynced)
	counted := p.state.Reworded
	if unwritten == nil && now.Status == metav1.ConditionFalse && before.Reason == now.Reason &&
		before.Message != now.Message {
		counted.Count++
	}

	return counted
}

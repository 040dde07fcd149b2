package managed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
//
// An outage of the connection is one failure, whichever call fails: the errors of a broken network have alternating
// texts. It has one event. Its message does not change if the revision of the connection is known: another revision is
// another failure. Otherwise the new message may be what a user who corrected the connection has to read.
func (p *clientSession) reworded(o outcome) outcome {
	stage, most := o.name, mostRewordings
	outage := isOutage(o)
	if outage {
		stage = "outage"
	}
	of := fmt.Sprintf("%s/%s/%d/%s", stage, o.synced.Reason, p.generation,
		p.mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt])
	known := p.state.Reworded
	if outage {
		of, known.Of = ofRevision(of, p.connection.Revision, known.Of)
		p.state.Reworded.Of = known.Of
		if !strings.HasSuffix(of, "@") {
			most = 0
		}
	}
	condition := p.read.GetCondition(commonv1.TypeSynced)
	reported := condition.Status == metav1.ConditionFalse && condition.Reason == o.synced.Reason
	restarted := known.Of == "" && condition.ObservedGeneration == p.generation
	if outage && reported && (known.Of == of || restarted) {
		o.event = event.Event{}
	}
	if known.Of != of || p.now().Sub(known.Since) >= rewordingPeriod || outage && !reported {
		p.state.Reworded = objectstate.Rewordings{Of: of, Since: p.now()}

		return o
	}
	if p.state.Reworded.Count >= most && reported {
		o.synced.Message, o.event = condition.Message, event.Event{}
	}

	return o
}

// isOutage reports whether an outcome says that the whole connection fails. The failure of another system, such as a
// ConnectionPublisher, is none, and neither is a terminal error.
func isOutage(o outcome) bool {
	calls := []row{connecting, observing, creating, updating, deleting, held}
	if o.progress == stuck || !slices.ContainsFunc(calls, func(r row) bool { return outcomes[r].name == o.name }) {
		return false
	}

	return slices.ContainsFunc(failureClasses, func(c errorClass) bool {
		return c.shared && c.reason != "" && c.reason == o.synced.Reason
	})
}

// ofRevision returns an outage, and the known outage, with the revision of the connection. If one of the two has no
// revision, because Connect failed, it gets that of the other.
func ofRevision(of, revision, known string) (is, was string) {
	before, same := strings.CutPrefix(known, of+"@")
	revision = cmp.Or(revision, before)
	if is = of + "@" + revision; same && before == "" {
		return is, is
	}

	return is, known
}

// rewordings returns how often the message of a failure has changed, once the status is written, or could not be.
func (p *object) rewordings(unwritten error) objectstate.Rewordings {
	before, now := p.read.GetCondition(commonv1.TypeSynced), p.mg.GetCondition(commonv1.TypeSynced)
	if unwritten == nil && now.Status == metav1.ConditionTrue { // the failure is over
		return objectstate.Rewordings{}
	}
	counted := p.state.Reworded
	if unwritten == nil && now.Status == metav1.ConditionFalse && before.Reason == now.Reason &&
		before.Message != now.Message {
		counted.Count++
	}

	return counted
}

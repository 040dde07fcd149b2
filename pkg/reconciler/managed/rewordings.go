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

// How often in a time a failure is told in other words. Many systems put into each error a
// word of its own, such as the id of a request: with a status and an event for each of them, a
// fleet that fails writes as often as it tries.
const (
	mostRewordings  = 5
	rewordingPeriod = time.Hour
)

// reworded keeps the text that the object tells if the failure is the same but for its words,
// and they have changed often enough lately. Another stage, reason, generation or request is
// another failure, which is told at once.
func (p *object) reworded(o outcome) outcome {
	of := fmt.Sprintf("%s/%s/%d/%s", o.name, o.synced.Reason, p.generation,
		p.mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt])
	if known := p.state.Reworded; known.Of != of || p.now().Sub(known.Since) >= rewordingPeriod {
		p.state.Reworded = objectstate.Rewordings{Of: of, Since: p.now()}

		return o
	}
	told := p.read.GetCondition(commonv1.TypeSynced)
	if p.state.Reworded.Told >= mostRewordings && told.Status == metav1.ConditionFalse &&
		told.Reason == o.synced.Reason {
		o.synced.Message, o.event = told.Message, event.Event{}
	}

	return o
}

// rewordings returns how often a failure was told in other words, once the status is written, or could not be.
func (p *object) rewordings(unwritten error) objectstate.Rewordings {
	told, tells := p.read.GetCondition(commonv1.TypeSynced), p.mg.GetCondition(commonv1.TypeSynced)
	counted := p.state.Reworded
	if unwritten == nil && tells.Status == metav1.ConditionFalse && told.Reason == tells.Reason &&
		told.Message != tells.Message {
		counted.Told++
	}

	return counted
}

package managed

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// ownershipGrace returns how long the reconciler does not believe that a deleted object's resource has another owner,
// if the annotations say that the resource is ours. One read of a stamp may be wrong, and a stamp may become visible
// later than its resource.
func (p *clientSession) ownershipGrace() time.Duration {
	if !p.ownerChanged() {
		return 0
	}
	rest := max(absenceGrace-p.now().Sub(p.notFoundSince()), 0)
	if p.createdUnobserved() {
		rest = max(rest, p.creationGrace())
	}

	return rest
}

// ownerChanged reports whether the resource of a deleted object exists and has another owner, without a Delete that
// explains it.
func (p *creationRecord) ownerChanged() bool {
	return p.observed && p.observation.ResourceExists && meta.WasDeleted(p.mg) && p.unexpectedAbsence() &&
		p.notOwned() && p.wasOurs()
}

// wasOurs reports whether the resource with the external name of the object is known to have been created or
// adopted for it.
func (p *creationRecord) wasOurs() bool {
	if p.r.named { // there is no record, and a client may set conditions when it observes
		ready := p.read.GetCondition(commonv1.TypeReady)
		inStatus := ready.Status == metav1.ConditionTrue || ready.Reason == commonv1.ReasonDeleting

		return inStatus || p.state.Seen != objectstate.CreationRef{} || p.state.Creation == createdHere
	}
	this := attempt.Creation(p.mg, p.mg)
	inStatus, underThisName := p.observedInStatus(this)

	return this.Mark != "" && (!inStatus || underThisName || p.state.Seen == this)
}

// ownerChangedText returns the name of the resource that stays with another owner.
func (p *creationRecord) ownerChangedText() string {
	by := ""
	if stamp := p.observation.OwnerStamp; stamp != "" {
		by = fmt.Sprintf(" (its stamp is %.256q)", string(stamp))
	}

	return fmt.Sprintf("the external resource %q was created or adopted for the object, and by its stamp it is not the "+
		"object's any more%s: "+
		"it is left as it is; delete it there, if nothing else manages it", meta.GetExternalName(p.mg), by)
}

// clearDoubts resets the grace periods, and the number of futile creations, after an observation that has found the
// resource. A request of the user also resets that number, except in class Findable, so that the request is not
// delayed.
func (p *clientSession) clearDoubts(foreign bool) {
	exists := p.observation.ResourceExists
	if exists || p.createClass() != lifecycle.Findable && p.priorityFacts().Requested {
		p.state.Unfound = 0
	}
	if exists && !(foreign && meta.WasDeleted(p.mg)) {
		p.state.NotFoundSince, p.state.NotFoundName = time.Time{}, ""
	}
}

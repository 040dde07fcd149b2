package managed

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// ownershipGrace returns for how long it is not believed that what exists is not ours, although the object is
// deleted and says that it is: a stamp may be read wrongly once, and show later than what bears it.
func (p *clientSession) ownershipGrace() time.Duration {
	if !p.ownerChanged() {
		return 0
	}
	rest := max(doubt-p.now().Sub(p.notFoundSince()), 0)
	if p.createdUnobserved() {
		rest = max(rest, p.creationGrace())
	}

	return rest
}

// ownerChanged says whether what was created or adopted for a deleted object exists and is not ours, and no
// Delete was sent that explains it.
func (p *creationRecord) ownerChanged() bool {
	return p.observed && p.observation.ResourceExists && meta.WasDeleted(p.mg) && p.unexpectedAbsence() &&
		p.notOwned() && p.wasOurs()
}

// wasOurs says whether it is known that what has the external name of the object was created or adopted
// for it.
func (p *creationRecord) wasOurs() bool {
	if p.r.named { // there is no record, and a client may set conditions when it observes
		ready := p.read.GetCondition(commonv1.TypeReady)
		told := ready.Status == metav1.ConditionTrue || ready.Reason == commonv1.ReasonDeleting

		return told || p.state.Seen != objectstate.CreationRef{} || p.state.Creation == createdHere
	}
	this := creation(p.mg, p.mg)
	told, underThisName := p.observedInStatus(this)

	return this.Mark != "" && (!told || underThisName || p.state.Seen == this)
}

// ownerChangedText names what an object leaves to another owner.
func (p *creationRecord) ownerChangedText() string {
	by := ""
	if stamp := p.observation.OwnerStamp; stamp != "" {
		by = fmt.Sprintf(" (its stamp is %.256q)", string(stamp))
	}

	return fmt.Sprintf("the external resource %q was created or adopted for the object, and by its stamp it is not the "+
		"object's any more%s: "+
		"it is left as it is; delete it there, if nothing else manages it", meta.GetExternalName(p.mg), by)
}

// clearDoubts forgets what was doubted of what an observation has found, and how often it was created and not
// found. What a user asks for is not put off.
func (p *clientSession) clearDoubts(stranger bool) {
	exists := p.observation.ResourceExists
	if exists || p.class() != lifecycle.Findable && p.priorityFacts().Requested {
		p.state.Unfound = 0
	}
	if exists && !(stranger && meta.WasDeleted(p.mg)) {
		p.state.NotFoundSince, p.state.NotFoundName = time.Time{}, ""
	}
}

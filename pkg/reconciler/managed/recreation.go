package managed

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithRecreationOnRequest makes the recreation of a lost external resource wait until a user requests the recreation. A
// lost resource is one that was observed before and is not found any more. The request is the annotation
// moorage.dev/allow-recreation. Use the option for resources that hold data, because an empty replacement hides the
// loss of the data.
//
// By default the reconciler creates the resource again, with a warning, after a second observation over a new
// connection has not found it either.
//
// With [WithDeterministicExternalName] the option has no effect. Then observations are not recorded, and a repeated
// create makes no second resource.
func WithRecreationOnRequest() ReconcilerOption {
	return func(r *Reconciler) { r.recreateOnRequest = true }
}

// textRecreated is the message about a resource that is created again without a request.
const textRecreated = "the external resource %q was there and is not found any more: another is created. " +
	"If it is there all the same, the provider asks in the wrong place, such as another region or account; " +
	"with the option WithRecreationOnRequest nothing is created before a user asks for it"

// Messages about a created resource that is not found: where it can be looked up, and where a repeated create leads
// to the same resource.
const (
	textUnfound = "the external resource %q was created and is not found, neither by its name nor by its attempt: " +
		"another is created. " +
		"If the external system shows later what it made, RecoveryWindow of the provider's client is too short"
	textUnfoundAgain = "what was created is not found, and neither was what was created before it: if the external " +
		"system shows it later, " +
		"RecoveryWindow of the provider's client is too short; if it is there all the same, the provider asks in the " +
		"wrong place, " +
		"such as another region or account. Another is created, ever more rarely"
	textUnshown = "created, and created again, because it does not show: if the external system shows it later, the " +
		"option WithCreationGracePeriod " +
		"gives it more time; if it is there all the same, the provider asks in the wrong place, such as another region or " +
		"account. " +
		"The creation is repeated, ever more rarely"
)

// The delay until a resource is created in place of one that is not found, and was itself created in place of one
// that was not found. It doubles each time. Where a repeated create leads to the same resource, it is an hour at
// most.
const (
	leastRecreationDelay = 10 * time.Minute
	mostRecreationDelay  = 24 * time.Hour
	mostRepetitionDelay  = time.Hour
)

// unfound reports whether the resource that is about to be created replaces a created resource that is not found. It
// also returns true if the create repeats the creation of that resource.
func (p *clientSession) unfound() bool {
	switch {
	case p.unresolved() || meta.WasDeleted(p.mg):
		return false
	case p.createClass() == lifecycle.Findable:
		return attempt.CreationMark(p.mg) != ""
	default:
		return p.createdUnobserved()
	}
}

// recordRecreated emits a warning that a resource is created in place of a lost one.
func (p *clientSession) recordRecreated(lost string, seen, unfound bool) {
	if unfound && (p.state.Unfound == 0 || p.createClass() != lifecycle.Opaque) { // other cases only emit the event
		p.state.Unfound++
	}
	switch {
	case seen:
		p.recordEvent(event.Warning(reasonRecreated, errors.Errorf(textRecreated, lost)))
	case unfound && p.state.Unfound == 1 && p.createClass() == lifecycle.Findable:
		p.recordEvent(event.Warning(reasonRecreated, errors.Errorf(textUnfound, lost)))
	}
}

// recreationDelay returns how much longer a created resource that is not found is observed before it is created
// again. Otherwise an external system that shows no resources would be filled with them, or called without end.
func (p *clientSession) recreationDelay() time.Duration {
	most := mostRecreationDelay
	if p.createClass() != lifecycle.Findable {
		most = mostRepetitionDelay
	}
	if p.state.Unfound == 0 || p.createClass() == lifecycle.Opaque || p.unresolved() || meta.WasDeleted(p.mg) {
		return 0
	}

	delay := leastRecreationDelay
	for n := 1; n < p.state.Unfound && delay < most; n++ {
		delay *= 2
	}

	return min(delay, most)
}

// awaitsRequest reports whether nothing may be created before a user requests it.
func (p *creationRecord) awaitsRequest() bool {
	return p.r.recreateOnRequest && !p.r.named && p.wasSeen() &&
		p.mg.GetAnnotations()[meta.AnnotationKeyAllowRecreation] != p.creationID()
}

// unrequested returns the outcome for a missing resource that the policies of the object allow to create.
func (p *creationRecord) unrequested() outcome {
	text := fmt.Sprintf("the external resource %q was there and is not found any more: restore it, "+
		"or set the annotation %s to %q to have another created", meta.GetExternalName(p.mg),
		meta.AnnotationKeyAllowRecreation, p.creationID())

	o := outcomes[awaitingRequest]
	o.synced = unsynced(commonv1.ReasonRecreationNotRequested, text)
	o.event = event.Warning(reasonMissing, errors.New(text))

	return o
}

// creationID returns the user-visible id of the last creation: the id of its attempt, or its time if another
// runtime made it.
func (p *creationRecord) creationID() string {
	if p.inherited != "" {
		return p.inherited
	}
	id, _, _ := strings.Cut(attempt.CreationMark(p.mg), "/")

	return id
}

package managed

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithRecreationOnRequest has an external resource that an observation had found, and
// that is gone, created again only if a user asks for it, by the annotation
// moorage.dev/allow-recreation. It is for what holds data: an empty resource in the place
// of a lost one looks as if all were well. The default is to create it again, with a
// warning, once a second look over a new connection has not found it either. It changes
// nothing where the name is chosen here, see [WithDeterministicExternalName]: there it is
// not recorded that something was found, and nothing can be made twice.
func WithRecreationOnRequest() ReconcilerOption {
	return func(r *Reconciler) { r.recreateOnRequest = true }
}

// TextRecreated is told of what is created again by itself.
const textRecreated = "the external resource %q was there and is not found any more: another is created. " +
	"If it is there all the same, the provider asks in the wrong place, such as another region or account; " +
	"with the option WithRecreationOnRequest nothing is created before a user asks for it"

// What is told of what was created and is not found: where it can be looked up, and where to
// create it again leads to the same.
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

// How long it takes until another is created in the place of what is not found, and was itself
// created in the place of what was not found. It doubles each time. Where to create it again leads to
// the same, it takes an hour at most.
const (
	leastPatience  = 10 * time.Minute
	mostPatience   = 24 * time.Hour
	mostRepetition = time.Hour
)

// unfound says whether what is about to be created takes the place of what was created, or is
// the same once more, because that is not found.
func (p *clientSession) unfound() bool {
	switch {
	case p.unresolved() || meta.WasDeleted(p.mg):
		return false
	case p.class() == lifecycle.Findable:
		return created(p.mg) != ""
	default:
		return p.createdUnobserved()
	}
}

// recordRecreated tells that something is created in the place of what is lost.
func (p *clientSession) recordRecreated(lost string, seen, unfound bool) {
	if unfound && (p.state.Unfound == 0 || p.class() != lifecycle.Opaque) { // there it is only told
		p.state.Unfound++
	}
	switch {
	case seen:
		p.recordEvent(event.Warning(reasonRecreated, errors.Errorf(textRecreated, lost)))
	case unfound && p.state.Unfound == 1 && p.class() == lifecycle.Findable:
		p.recordEvent(event.Warning(reasonRecreated, errors.Errorf(textUnfound, lost)))
	}
}

// patience returns how much longer it is looked for what was created and is not found: an
// external system that shows nothing at all would be filled, or called without end.
func (p *clientSession) patience() time.Duration {
	most := mostPatience
	if p.class() != lifecycle.Findable {
		most = mostRepetition
	}
	if p.state.Unfound == 0 || p.class() == lifecycle.Opaque || p.unresolved() || meta.WasDeleted(p.mg) {
		return 0
	}

	patience := leastPatience
	for n := 1; n < p.state.Unfound && patience < most; n++ {
		patience *= 2
	}

	return min(patience, most)
}

// awaitsRequest says whether nothing may be created before a user asks for it.
func (p *creationRecord) awaitsRequest() bool {
	return p.r.recreateOnRequest && !p.r.named && p.wasSeen() &&
		p.mg.GetAnnotations()[meta.AnnotationKeyAllowRecreation] != p.creationID()
}

// creationID returns what a user calls the last creation: the id of its attempt, or its
// time if another runtime made it.
func (p *creationRecord) creationID() string {
	if p.inherited != "" {
		return p.inherited
	}
	id, _, _ := strings.Cut(created(p.mg), "/")

	return id
}

// unrequested is the outcome for what is missing although the policies of the object allow
// to create it.
func (p *creationRecord) unrequested() outcome {
	text := fmt.Sprintf("the external resource %q was there and is not found any more: restore it, "+
		"or set the annotation %s to %q to have another created", meta.GetExternalName(p.mg),
		meta.AnnotationKeyAllowRecreation, p.creationID())

	return outcome{
		name: "awaiting-request", requeue: poll, progress: stuck,
		synced: unsynced(commonv1.ReasonRecreationNotRequested, text),
		event:  event.Warning(reasonMissing, errors.New(text)),
	}
}

package managed

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// refinements are the functions that add to outcomes what depends on the object.
var refinements = map[row]func(*pass, outcome) outcome{
	paused:             refinePaused,
	rejected:           refineRejected,
	kept:               refineKept,
	awaitingEffect:     refineAwaitingEffect,
	awaitingExistence:  refineAwaitingExistence,
	missing:            refineMissing,
	refused:            refineRefused,
	disowned:           refineDisowned,
	awaitingFinalizers: refineAwaitingFinalizers,
	awaitingGone:       refineAwaitingGone,
	awaitingList:       refineAwaitingList,
}

// refinePaused says why the object is paused.
func refinePaused(p *pass, o outcome) outcome {
	if !p.r.pausedBy(p.mg) {
		o.event.Message = "Reconciliation is paused: spec.managementPolicies is empty"
	} else if why := p.r.whyPaused(p.mg); why != "" {
		o.synced = o.synced.WithMessage(why)
	}

	return o
}

// refineRejected says which policy is unknown or not supported.
func refineRejected(p *pass, o outcome) outcome {
	err := p.redact(p.policy)
	o.synced = unsynced(commonv1.ReasonInvalidManagementPolicy, err.Error())
	o.event = event.Warning(reasonInvalidPolicy, err)

	return o
}

const textWaitingForFinalizers = "waiting for others to remove their finalizers: "

// refineAwaitingFinalizers says which finalizers have to be removed.
func refineAwaitingFinalizers(p *pass, o outcome) outcome {
	text := textWaitingForFinalizers + strings.Join(p.foreignFinalizers(), ", ")
	if p.deletedLong() {
		text = "for more than an hour " + text
		o.event = event.Warning(reasonWaitingForFinalizers, redact.Error(errors.New(text)))
	}
	o.synced = commonv1.ReconcileSuccess().WithMessage(redact.String(text))

	return o
}

// deletedLong reports whether the deletion of the object was requested more than an hour ago.
func (p *object) deletedLong() bool {
	since := p.mg.GetDeletionTimestamp()

	return since != nil && p.now().Sub(since.Time) > time.Hour
}

const textKeepsExisting = "the external resource still exists more than an hour after the object was deleted, " +
	"although Delete was called again at each poll: " +
	"see in the external system what keeps it, or whether Delete has an effect"

// refineAwaitingGone says why the finalizer stays, or that the deletion takes long.
func refineAwaitingGone(p *pass, o outcome) outcome {
	switch {
	case !p.observation.ResourceExists || p.lastFacts.Ownership == lifecycle.Foreign:
		o.requeue, o.synced = untilGrace, o.synced.WithMessage(p.whyKept())
	case p.deletedLong():
		o.synced = o.synced.WithMessage(textKeepsExisting)
		o.event = event.Warning(reasonKeepsExisting, errors.New(textKeepsExisting))
	}

	return o
}

// refineRefused asks the user what to do about a creation whose result is unknown.
func refineRefused(p *pass, o outcome) outcome {
	err, again := errors.New(textUnresolved), p.asksAgain()
	switch id, _ := attempt.Of(p.mg); {
	case p.lastFacts.Attempt == lifecycle.Superseded:
		return p.refusedAsSuperseded(o)
	case meta.WasDeleted(p.mg):
		text := textUnresolved + again +
			"; until then the object stays, because what was created for it could not be found"
		if !p.unresolved() {
			text = textNameless + again
			err = errors.New(text)
		}
		if id != "" {
			text += fmt.Sprintf(" (or set the annotation %s to %q to give it up)",
				meta.AnnotationKeyAbandonAttempt, id)
		}
		o.ready = commonv1.Deleting()
		o.synced = unsynced(commonv1.ReasonCreationUnresolved, text)
	case p.inherits():
		err = errors.New(textInherited + again)
		o.synced = unsynced(commonv1.ReasonCreationUnresolved, textInherited+again)
	case !p.unresolved():
		err = errors.New(textUnseen + again)
		o.synced = unsynced(commonv1.ReasonCreationUnresolved, textUnseen+again)
	case p.otherClass(id):
		err = errors.New(textOtherClass + again)
		o.synced = unsynced(commonv1.ReasonCreationUnresolved, textOtherClass+again)
	default:
		err = errors.New(textUnresolved + again)
		if p.state.UnknownCreateErr != "" {
			err = errors.New(textUnresolved + again + "; it ended with: " + p.state.UnknownCreateErr)
		}
		err = p.redact(err)
		o.synced = commonv1.ReconcileError(err)
	}
	o.event = event.Warning(reasonCannotInitialize, err)

	return o
}

const (
	textUnresolved = "cannot determine creation result - remove the " + meta.AnnotationKeyExternalCreatePending +
		" annotation if it is safe to proceed"
	textInherited = textUnresolved + "; the attempt was made for the object that this one was restored or copied from, " +
		"and that is not in this cluster: " +
		"if the external system has what it created, set the annotation " + meta.AnnotationKeyExternalName +
		" to its name instead"
	textOtherClass = textUnresolved + "; a release of this provider began it whose class of creations was another, so " +
		"that it can neither be repeated nor looked up: " +
		"if the external system has what it created, set the annotation " + meta.AnnotationKeyExternalName +
		" to its name instead"
	textUnseen = "what was created is not found under its external name, and never was: if the external system shows " +
		"it later, the object goes on by itself, " +
		"and the option WithCreationGracePeriod gives it more time; if not, check where the provider asks (region, " +
		"account) - remove the annotations " +
		meta.AnnotationKeyExternalCreatePending + ", " + meta.AnnotationKeyExternalCreateSucceeded + " and " +
		meta.AnnotationKeyCreateAttempt + " if it is safe to create it again"
	textNameless = "what was created is not found, and its external name is not stored, so that it cannot be deleted: " +
		"look for it in the external system; " +
		"if it is there, set the annotation " + meta.AnnotationKeyExternalName +
		" to its name - remove the annotations " +
		meta.AnnotationKeyExternalCreatePending + ", " + meta.AnnotationKeyExternalCreateSucceeded + " and " +
		meta.AnnotationKeyCreateAttempt + " if there is nothing to delete"
	textTolerated = "the external resource differs, and the management policy does not allow to change it"
	textMissing   = "observe failed: external resource does not exist, and the management policy does not allow to " +
		"create it: " +
		"create it, or change the annotation " + meta.AnnotationKeyManagementPolicy
)

// refineDisowned says whose the external resource is, and what the user can do.
func refineDisowned(p *pass, o outcome) outcome {
	text := "the external resource belongs to another owner and is left as it is: " +
		"choose another name by the annotation " + meta.AnnotationKeyExternalName
	if p.observation.Owner == OwnerNone {
		text = fmt.Sprintf("the external resource exists, bears no mark of an owner, and is left as it is: "+
			"set the annotation %s to %q to take it over, or choose another name by the annotation %s",
			meta.AnnotationKeyAdoptionPolicy, meta.AdoptionPolicyIfUnowned, meta.AnnotationKeyExternalName)
	}
	if how := p.restoredFrom(); how != "" {
		text = how
	}
	o.synced = unsynced(commonv1.ReasonExternalResourceNotOwned, text)
	if why := p.notAllowed(); why != "" {
		text = why
		o.synced = unsynced(commonv1.ReasonAdoptionNotAllowed, text)
	}
	o.event = event.Warning(reasonNotOwned, errors.New(text))

	return o
}

// refineKept polls an object soon that is not ready yet.
func refineKept(p *pass, o outcome) outcome {
	p.state.Unchanged = 0
	if ready := p.mg.GetCondition(commonv1.TypeReady); ready.Reason != "" && ready.Status != metav1.ConditionTrue {
		o.requeue, o.progress = adaptive, moving
	}

	return o
}

// After so many passes whose change is not visible, something else changes it back, or the client compares fields that
// cannot be changed.
const keepsChanging = 3

// refineAwaitingEffect warns after several updates without a visible effect.
func refineAwaitingEffect(p *pass, o outcome) outcome {
	p.state.Unchanged++
	if p.state.Unchanged >= keepsChanging {
		text := "the external resource still differs after several updates: something else changes it back, or the " +
			"change has no effect"
		o.upToDate = o.upToDate.WithMessage(text)
		o.event = event.Warning(reasonKeepsChanging, errors.New(text))
	}

	return o
}

// refineAwaitingExistence says what is waited for.
func refineAwaitingExistence(p *pass, o outcome) outcome {
	switch {
	case p.alreadyExists != nil:
		return p.nameTaken()
	case p.recoveredUnobserved:
		o.synced.Message = "what was created is found by its attempt, and not by its external name; waiting until it is"
	case p.searchedFirst:
		o.synced.Message, o.event = textRecordLost, event.Event{}
	case p.recoveryGrace > 0 && p.recreationDelay() > 0:
		o.synced = unsynced(commonv1.ReasonCreationUnresolved, textUnfoundAgain)
		o.event = event.Warning(reasonMissing, errors.New(textUnfoundAgain))
	case p.recoveryGrace > 0:
		o.synced.Message = "a creation was interrupted; looking for what it led to"
		o.event.Message = "Looking for what an interrupted creation led to"
	case !p.createdUnobserved(): // it was there before: its absence is not believed yet
		o.ready, o.synced, o.event = commonv1.Condition{}, commonv1.Condition{}, event.Event{}
	case p.state.Unfound > 0 && p.createClass() != lifecycle.Findable:
		o.synced.Message = textUnshown
		o.event = event.Warning(reasonMissing, errors.New(textUnshown))
	case p.mutated: // the event of the creation is emitted already
		o.event = event.Event{}
	}

	return o
}

// nameTaken returns the outcome if Create returns that the name is in use, and Observe finds no resource with that
// name.
func (p *pass) nameTaken() outcome {
	err := p.redact(errors.Wrap(p.alreadyExists, "create failed: the name is taken by something that cannot be seen: "+
		"look for it, or choose another by the annotation "+meta.AnnotationKeyExternalName))

	o := outcomes[taken]
	o.synced, o.event = commonv1.ReconcileError(err), event.Warning(reasonCannotCreate, err)

	return o
}

// refineMissing says whether a user has to request a recreation.
func refineMissing(p *pass, o outcome) outcome {
	if p.r.permissions(p.mg).Create {
		o = p.unrequested()
	}
	if isReady(p.mg) {
		o.ready = commonv1.Unavailable()
	}

	return o
}

// refineAwaitingList says whether this pass or another one makes the list, and when it may be complete.
func refineAwaitingList(p *pass, o outcome) outcome {
	if p.unlisted == listing {
		return outcomes[listing]
	}
	o.after = p.listAfter

	return o
}

package managed

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// Messages about an object to which the record of an earlier creation was written, or of one that its user has
// abandoned.
const (
	textEarlier = "the annotations of an earlier creation were written to the object, by a manifest that was exported " +
		"before the last one, or by another process: " +
		"the record of the last creation is put back. " + textManifest +
		" if one has them; if none has, see that no other process reconciles the object"
	textEarlierNamed = textEarlier + ". They had the external name %q: if that is in the external system, and nothing " +
		"else manages it, it is left over"
	textGivenUp = "the annotations of a creation were written to the object that its user has given up, as they " +
		"are in a manifest that was exported before: " +
		"they are removed, and the user is not asked again. " + textManifest
	textOverruled = "the annotations of a creation were written to the object that its user has given up, or of one " +
		"before it, as they are in a manifest that was exported before: " +
		"they are believed, because another creation may have been begun since, and this process would not know of it. If " +
		"the object stands for another external resource, " +
		"set the annotation " + meta.AnnotationKeyExternalName + " to its name. " + textManifest
	textReplaced = "the record of the last creation was removed from the object, as a replace does, and its external " +
		"name became %q, which is not found: " +
		"the record is put back, with its external name. Remove the annotation " + meta.AnnotationKeyExternalName +
		" from the manifest; " +
		"if the object is to stand for another external resource, change that annotation alone"
	textManifest = "Remove the annotations that the provider writes from the manifest"
)

// newAttempt returns a new ID. The ID begins with a number that grows from one attempt of an object to the next: the
// Unix time, or the last number plus one. The digit before the "-" is the class of the attempt. The ID ends with a
// hash of the UID of the object, because annotations may be copied with an object.
//
// In the classes in which a token leads to the resource, every process derives the same first ID of an object without
// a record.
func (p *clientSession) newAttempt() string {
	if first := p.firstAttempt(); first != "" {
		return first
	}
	number := p.now().Unix()
	for _, mark := range p.knownMarks() {
		number = max(number, attempt.Number(mark)+1)
	}

	return p.attemptID(number, uint32(p.r.random()*(1<<32)))
}

// knownMarks returns the marks of creations and attempts in the record, the condition Created and the memory of this
// process. Most of them are empty.
func (p *creationRecord) knownMarks() []string {
	inStatus := objectstate.ParseCreationRef(p.mg.GetCondition(commonv1.TypeCreated).Message)

	return []string{p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], attempt.TimeMark(p.mg), p.lastKnown().Mark,
		inStatus.Mark}
}

// attemptID returns the ID of an attempt for the object in the current class of the controller.
func (p *clientSession) attemptID(number int64, random uint32) string {
	return attempt.NewID(p.mg, number, random, int(p.ownClass()))
}

// otherClass reports whether an attempt was made in another class than the current class of the controller, for
// example by an earlier release of the provider. Then Create did not get the token, or there is no lookup for its
// result. A shorter ID has no class.
func (p *clientSession) otherClass(id string) bool {
	return attempt.OtherClass(id, int(p.ownClass()))
}

// removeEarlier removes the record of an earlier creation. If the external name of the last creation is known, it
// also removes the external name. It reports whether it removed anything.
func (p *creationRecord) removeEarlier() bool {
	if !p.earlier() {
		return false
	}
	if p.mg.GetCondition(commonv1.TypeCreated).Reason == commonv1.ReasonUnresolved {
		p.readCreationFromStatus()
	}
	overwritten := attempt.CreationMark(p.mg)
	attempt.RemoveRecord(p.mg)
	if ref, _ := p.lastCreation(); ref.Name != "" || ref.Mark != "" && ref.Mark == overwritten {
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyExternalName)
	}

	return true
}

// earlier reports whether the record belongs to another object, or to a creation before the last known one. The
// number of an attempt is never smaller than the number of the attempt before, even if the clock went back.
func (p *creationRecord) earlier() bool {
	known := p.lastKnown()
	switch known.Mark {
	case "":
		return false
	case attempt.CreationMark(p.mg): // the common case
		return known.Name != meta.GetExternalName(p.mg) && p.overwritten()
	}
	last, _, _ := strings.Cut(known.Mark, "/")
	id, _ := attempt.Of(p.mg)
	switch {
	case attempt.MarkCopied(p.mg, last):
		return false
	case id == last:
		return p.precedesFind() || p.precedesResult(known.Mark)
	default:
		return attempt.MarkCopied(p.mg, id) || attempt.Precedes(p.mg, last)
	}
}

// lastKnown returns the last creation, or the ID of the last attempt, that is known without the record. It reads the
// memory of this process and the condition Created.
func (p *creationRecord) lastKnown() objectstate.CreationRef {
	if name, mark, _ := p.state.known(); mark != "" {
		return objectstate.CreationRef{Mark: mark, Name: name}
	}

	condition := p.mg.GetCondition(commonv1.TypeCreated)
	if condition.Reason == commonv1.ReasonGivenUp {
		return objectstate.CreationRef{}
	}

	return objectstate.ParseCreationRef(condition.Message)
}

// overwritten reports whether another runtime has written the times of an earlier creation over the record of the
// last one. The ID of the last creation is then still there. Such a runtime merges its annotations, with the external
// name of the earlier creation, into the object. A user who sets another name does not change the times, and no time
// is before the number of the ID.
func (p *creationRecord) overwritten() bool {
	id, _ := attempt.Of(p.mg)
	_, since := p.lastCreation()
	succeeded := meta.GetExternalCreateSucceeded(p.mg)

	return !succeeded.IsZero() && succeeded.Before(attempt.TimeOf(id, since))
}

// precedesFind reports whether the record is older than the status. The record then has no result of an attempt whose
// resource was observed, and the attempt was not repeated since.
func (p *creationRecord) precedesFind() bool {
	condition := p.mg.GetCondition(commonv1.TypeCreated)
	id, result := attempt.Of(p.mg)
	found := objectstate.ParseCreationRef(condition.Message).Mark == id+"/"+attempt.Succeeded

	return result == "" && condition.Status == metav1.ConditionTrue && found &&
		!meta.GetExternalCreatePending(p.mg).After(condition.LastTransitionTime.Time)
}

// precedesResult reports whether the record has no result of the attempt that is known to have succeeded. An attempt
// is repeated only where the same token leads to the same resource.
func (p *creationRecord) precedesResult(known string) bool {
	id, result := attempt.Of(p.mg)

	return !p.r.tokens && result == "" && known == id+"/"+attempt.Succeeded
}

// unstored reports whether the record lacks the result of its attempt because this process could not store the
// result. Otherwise another writer has written an earlier record.
func (p *creationRecord) unstored() bool {
	id, result := attempt.Of(p.mg)
	of, _, _ := strings.Cut(p.state.Unwritten[meta.AnnotationKeyCreateAttempt], "/")

	return of != "" && id == of && result == ""
}

// earlierText returns the message about the record of an earlier creation, which had a name.
func (p *creationRecord) earlierText(name string) string {
	if ref, _ := p.lastCreation(); name == "" || ref.Name == "" || name == ref.Name || p.r.named {
		return textEarlier
	}

	return p.redact(errors.Errorf(textEarlierNamed, name)).Error()
}

// warnRecordTaken emits a warning that the record of a creation was removed by another writer, or that of an
// earlier one by the reconciler.
func (p *creationRecord) warnRecordTaken(text string) {
	if !p.r.halted(p.mg) && p.isNewMessage(string(reasonRecordTaken), text) {
		p.recordEvent(event.Warning(reasonRecordTaken, errors.New(text)))
	}
}

// gaveUp reports whether the record is of the creation that the user abandoned last, or of an earlier one, and does
// not have the user's answer itself.
func (p *creationRecord) gaveUp() bool {
	condition := p.mg.GetCondition(commonv1.TypeCreated)
	if condition.Reason != commonv1.ReasonGivenUp || attempt.Abandoned(p.mg) {
		return false
	}
	last, _, _ := strings.Cut(objectstate.ParseCreationRef(condition.Message).Mark, "/")
	id, _ := attempt.Of(p.mg)

	return last != "" && !attempt.MarkCopied(p.mg, last) && !attempt.MarkCopied(p.mg, id) &&
		(id == last || attempt.Precedes(p.mg, last))
}

// giveUp forgets a creation that the user has abandoned.
func (p *creationRecord) giveUp() {
	p.state.Made, p.state.Called = objectstate.CreationRef{}, objectstate.Intent{}
	if condition := p.mg.GetCondition(commonv1.TypeCreated); condition.Reason == commonv1.ReasonUnresolved {
		p.setCondition(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionFalse,
			Reason: commonv1.ReasonGivenUp, Message: condition.Message,
		})
	}
}

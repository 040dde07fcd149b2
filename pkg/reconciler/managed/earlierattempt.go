package managed

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
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
		number = max(number, numberOf(mark)+1)
	}

	return p.attemptID(number, uint32(p.r.random()*(1<<32)))
}

// knownMarks returns the marks of creations and attempts in the record, the condition Created and the memory of this
// process. Most of them are empty.
func (p *creationRecord) knownMarks() []string {
	inStatus := objectstate.ParseCreationRef(p.mg.GetCondition(commonv1.TypeCreated).Message)

	return []string{p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], latestTime(p.mg), p.lastKnown().Mark,
		inStatus.Mark}
}

// attemptID returns the ID of an attempt for the object in the current class of the controller.
func (p *clientSession) attemptID(number int64, random uint32) string {
	return fmt.Sprintf("%08x%08x%x-%s", uint32(min(number, math.MaxUint32)), random, int(p.ownClass()), ownMark(p.mg))
}

// otherClass reports whether an attempt was made in another class than the current class of the controller, for
// example by an earlier release of the provider. Then Create did not get the token, or there is no lookup for its
// result. A shorter ID has no class.
func (p *clientSession) otherClass(id string) bool {
	const at = 16
	head, _, _ := strings.Cut(id, "-")

	return len(head) == at+1 && head[at] != '0'+byte(p.ownClass())
}

// latest returns the latest of some times.
func latest(at time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if other.After(at) {
			at = other
		}
	}

	return at
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
	overwritten := created(p.mg)
	removeRecord(p.mg)
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
	case created(p.mg): // the common case
		return known.Name != meta.GetExternalName(p.mg) && p.overwritten()
	}
	last, _, _ := strings.Cut(known.Mark, "/")
	id, _ := attemptOf(p.mg)
	switch {
	case isCopied(p.mg, last):
		return false
	case id == last:
		return p.precedesFind() || p.precedesResult(known.Mark)
	default:
		return isCopied(p.mg, id) || precedes(p.mg, last)
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
	id, _ := attemptOf(p.mg)
	_, since := p.lastCreation()
	succeeded := meta.GetExternalCreateSucceeded(p.mg)

	return !succeeded.IsZero() && succeeded.Before(beginning(id, since))
}

// The number of an id is at most this much later than the recorded time of the attempt. Attempts that were recorded
// before ids had numbers have arbitrary ones.
const numberAhead = 24 * time.Hour

// beginning returns the time that the number of an ID stands for. Nothing was recorded of the attempt before that
// time. It is zero if the time is unknown. The argument now is about the time at which the attempt was recorded, or
// later.
func beginning(id string, now time.Time) time.Time {
	number := numberOf(id)
	if at := time.Unix(number, 0); number >= 0 && !at.After(now.Add(numberAhead)) {
		return at
	}

	return time.Time{}
}

// precedesFind reports whether the record is older than the status. The record then has no result of an attempt whose
// resource was observed, and the attempt was not repeated since.
func (p *creationRecord) precedesFind() bool {
	condition := p.mg.GetCondition(commonv1.TypeCreated)
	id, result := attemptOf(p.mg)
	found := objectstate.ParseCreationRef(condition.Message).Mark == id+"/"+attemptSucceeded

	return result == "" && condition.Status == metav1.ConditionTrue && found &&
		!meta.GetExternalCreatePending(p.mg).After(condition.LastTransitionTime.Time)
}

// precedesResult reports whether the record has no result of the attempt that is known to have succeeded. An attempt
// is repeated only where the same token leads to the same resource.
func (p *creationRecord) precedesResult(known string) bool {
	id, result := attemptOf(p.mg)

	return !p.r.tokens && result == "" && known == id+"/"+attemptSucceeded
}

// removeRecord removes the record of a creation, and leaves the external name.
func removeRecord(mg resource.Managed) { meta.RemoveAnnotations(mg, recordMarks...) }

// unstored reports whether the record lacks the result of its attempt because this process could not store the
// result. Otherwise another writer has written an earlier record.
func (p *creationRecord) unstored() bool {
	id, result := attemptOf(p.mg)
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

// recordMarks are the annotations of the record of a creation, without the external name.
var recordMarks = []string{
	meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
	meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreateFailed,
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
	if condition.Reason != commonv1.ReasonGivenUp || abandoned(p.mg) {
		return false
	}
	last, _, _ := strings.Cut(objectstate.ParseCreationRef(condition.Message).Mark, "/")
	id, _ := attemptOf(p.mg)

	return last != "" && !isCopied(p.mg, last) && !isCopied(p.mg, id) && (id == last || precedes(p.mg, last))
}

// isCopied reports whether an ID belongs to an attempt for another object. The times of other runtimes do not
// identify an object.
func isCopied(mg resource.Managed, id string) bool {
	_, err := time.Parse(time.RFC3339, id)

	return err != nil && copied(mg, id)
}

// precedes reports whether the record is of an attempt that was made before another one.
func precedes(mg resource.Managed, other string) bool {
	id, _ := attemptOf(mg)
	if id == "" { // another runtime has recorded times only
		id = latestTime(mg)
	}

	return id != "" && numberOf(id) < numberOf(other)
}

// latestTime returns the latest of the times that the record of a creation has, or "".
func latestTime(mg resource.Managed) string {
	at := meta.GetExternalCreateSucceeded(mg)
	if pending := meta.GetExternalCreatePending(mg); pending.After(at) {
		at = pending
	}
	if at.IsZero() {
		return ""
	}

	return at.Format(time.RFC3339)
}

// numberOf returns the number by which two creations or attempts of one object can be ordered. It is the number in
// the ID, or the Unix time if another runtime has recorded the creation. For any other mark it is -1.
func numberOf(mark string) int64 {
	if at, err := time.Parse(time.RFC3339, mark); err == nil {
		return at.Unix()
	}
	if number, err := strconv.ParseUint(mark[:min(len(mark), 8)], 16, 32); err == nil {
		return int64(number)
	}

	return -1
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

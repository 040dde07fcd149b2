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

// TextEarlier is told of an object to which the record of an earlier creation was written.
const textEarlier = "the annotations of an earlier creation were written to the object, as they are in a manifest that was exported before the last one: " +
	"the record of the last creation is put back. Remove the annotations that the provider writes from the manifest"

// NewAttempt returns an id that no other attempt has. It begins with a number that grows from
// one attempt of an object to the next: the Unix time, or one more than the last. It ends in
// what tells the object it was made for: marks may be copied along with an object.
func (p *pass) newAttempt() string {
	number := p.now().Unix()
	told := objectstate.ParseCreationRef(p.mg.GetCondition(commonv1.TypeCreated).Message)
	for _, mark := range []string{p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], latestTime(p.mg), p.lastMark(), told.Mark} {
		number = max(number, numberOf(mark)+1)
	}

	return fmt.Sprintf("%08x%08x-%s", uint32(min(number, math.MaxUint32)), uint32(p.r.random()*(1<<32)), ownMark(p.mg))
}

// NumberOf returns the number of a creation or attempt, by which two of one object can be
// ordered: that of its id or, of one that another runtime has recorded, its Unix time; and -1
// of anything else.
func numberOf(mark string) int64 {
	if at, err := time.Parse(time.RFC3339, mark); err == nil {
		return at.Unix()
	}
	if number, err := strconv.ParseUint(mark[:min(len(mark), 8)], 16, 32); err == nil {
		return int64(number)
	}

	return -1
}

// LatestTime returns the latest of the times that a record has of a creation, or nothing.
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

// LastMark returns the mark of the last creation, or the id of the last attempt, as far as it
// is known without the record: from the memory of this process, or from the condition Created.
func (p *pass) lastMark() string {
	if _, mark, _ := p.memo.known(); mark != "" {
		return mark
	}

	told := p.mg.GetCondition(commonv1.TypeCreated)
	if told.Reason == commonv1.ReasonGivenUp {
		return ""
	}

	return objectstate.ParseCreationRef(told.Message).Mark
}

// Earlier says whether the record is of a creation before the last one that is known without
// it, or of another object. No attempt of ours is recorded with a smaller number than the one
// before, whatever the clock says.
func (p *pass) earlier() bool {
	mark := p.lastMark()
	if mark == "" || mark == created(p.mg) { // as it is in nearly all passes
		return false
	}
	last, _, _ := strings.Cut(mark, "/")
	id, _ := attempt(p.mg)
	switch {
	case isCopied(p.mg, last):
		return false
	case id == last:
		return p.precedesFind()
	}
	if isCopied(p.mg, id) {
		return true
	}
	if id == "" { // another runtime has recorded times alone
		id = latestTime(p.mg)
	}

	return id != "" && numberOf(id) < numberOf(last)
}

// PrecedesFind says whether the record has no result of the attempt that led to what the status
// says was found, and is not that of its repetition since.
func (p *pass) precedesFind() bool {
	told := p.mg.GetCondition(commonv1.TypeCreated)
	id, result := attempt(p.mg)
	found := objectstate.ParseCreationRef(told.Message).Mark == id+"/"+attemptSucceeded

	return result == "" && told.Status == metav1.ConditionTrue && found && !meta.GetExternalCreatePending(p.mg).After(told.LastTransitionTime.Time)
}

// IsCopied says whether an id is that of an attempt that was made for another object. Times, by
// which other runtimes record creations, bear no such mark.
func isCopied(mg resource.Managed, id string) bool {
	_, err := time.Parse(time.RFC3339, id)

	return err != nil && copied(mg, id)
}

// RemoveEarlier removes the record of an earlier creation, with the external name, if that of
// the last is known. It says whether it did.
func (p *pass) removeEarlier() bool {
	if !p.earlier() {
		return false
	}
	if p.mg.GetCondition(commonv1.TypeCreated).Reason == commonv1.ReasonUnresolved {
		p.recollect()
	}
	removeRecord(p.mg)
	if ref, _ := p.lastCreation(); ref.Name != "" {
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyExternalName)
	}

	return true
}

// RemoveRecord removes the record of a creation, and leaves the external name.
func removeRecord(mg resource.Managed) {
	meta.RemoveAnnotations(mg, meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreateFailed)
}

// TellEarlier tells that the record of an earlier creation was removed.
func (p *pass) tellEarlier() {
	if !halted(p.mg) && p.first(string(reasonRecordTaken), textEarlier) {
		p.tell(event.Warning(reasonRecordTaken, errors.New(textEarlier)))
	}
}

// GiveUp forgets a creation that the user has given up.
func (p *pass) giveUp() {
	p.memo.Made, p.memo.Called = objectstate.CreationRef{}, objectstate.Intent{}
	if told := p.mg.GetCondition(commonv1.TypeCreated); told.Reason == commonv1.ReasonUnresolved {
		p.set(commonv1.Condition{Type: commonv1.TypeCreated, Status: metav1.ConditionFalse, Reason: commonv1.ReasonGivenUp, Message: told.Message})
	}
}

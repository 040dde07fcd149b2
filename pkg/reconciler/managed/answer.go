package managed

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Values of the annotation that notes that the user of an object was asked about a creation: for the first time, or
// after a replace had removed all annotations. The time of the creation in question follows a slash; notes of
// earlier releases have none.
const (
	notedAsked = "asked"
	notedTaken = "asked-again"
)

const (
	textTaken = "all annotations were removed from the object, whose creation is not resolved: a replace does that, " +
		"too, so that it is not taken for an answer, " +
		"and the record of the creation is put back. If it is safe to create again, remove only the annotations that the " +
		"condition names, above all " +
		meta.AnnotationKeyExternalCreatePending + ", and leave " + meta.AnnotationKeyWasUnresolved
	textAgain = " (and leave " + meta.AnnotationKeyWasUnresolved +
		": a replace, which takes all annotations, is not taken for an answer)"
)

// recordQuestion adds a note to the object that its user is asked about a creation. It reports whether that changed
// the object. The note has the time of the creation, because the answer does not cover later creations of a
// predecessor. If there are predecessors and the question is about a later creation, recordQuestion updates the time.
func (p *creationRecord) recordQuestion() bool {
	said, about := questionNote(p.mg)
	last := attempt.Latest(meta.GetExternalCreateSucceeded(p.mg), meta.GetExternalCreatePending(p.mg))
	if said != "" && (len(p.r.predecessors) == 0 || !last.After(about)) {
		return false
	}
	note := cmp.Or(said, notedAsked)
	if !last.IsZero() {
		note += "/" + last.UTC().Format(time.RFC3339Nano)
	}
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyWasUnresolved: note})

	return true
}

// answered returns the answer of the user, if a condition asks or has asked a question. A later failure, a pause or
// an overdue call replaces the question in the condition Synced, but not in the condition Created.
func (p *creationRecord) answered() lifecycle.Answer {
	synced := p.mg.GetCondition(commonv1.TypeSynced)
	question := p.mg.GetCondition(commonv1.TypeCreated).Reason == commonv1.ReasonUnresolved
	asked := strings.HasPrefix(synced.Message, textUnresolved) || strings.HasPrefix(synced.Message, textUnseen) ||
		strings.HasPrefix(synced.Message, textNameless) ||
		question && synced.Status != metav1.ConditionTrue
	gaveUp := p.gaveUp()
	if !asked && !gaveUp {
		return lifecycle.Question{}.Answer()
	}
	id, _ := attempt.Of(p.mg)

	return lifecycle.Question{
		Asked:         asked,
		Recorded:      attempt.CreationMark(p.mg) != "" || !meta.GetExternalCreatePending(p.mg).IsZero(),
		Noted:         p.mg.GetAnnotations()[meta.AnnotationKeyWasUnresolved] != "",
		Begun:         id != "",
		InStatus:      question,
		HasFinalizers: len(p.mg.GetFinalizers()) > 0,
		GaveUp:        gaveUp,
		New:           !p.state.Known,
		Ended:         p.state.Known && !p.state.remembersCreation(),
	}.Answer()
}

// applyAnswer updates the recorded creation with the answer of the user. If a replace has removed the record, and
// this process does not know it, applyAnswer reads it from the condition Created. An object that another runtime has
// marked has no attempt ID. It is only known that an attempt began.
func (p *creationRecord) applyAnswer(answer lifecycle.Answer) {
	switch answer {
	case lifecycle.Unanswered:
	case lifecycle.GivenUp:
		p.giveUp()
	case lifecycle.Answered:
		attempt.RemoveRecord(p.mg)
		p.restored = true
		p.warnRecordTaken(textGivenUp)
	case lifecycle.Overruled:
		if attempt.CreationMark(p.mg) != "" {
			p.state.Made = attempt.Creation(p.mg, p.mg)
		}
		p.warnRecordTaken(textOverruled)
	case lifecycle.Taken:
		p.readCreationFromStatus()
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyWasUnresolved: notedTaken})
		p.restored = true
		p.warnRecordTaken(textTaken)
	}
}

// readCreationFromStatus reads from the condition Created which creation the user is asked about, if the state has
// none.
func (p *creationRecord) readCreationFromStatus() {
	if p.state.remembersCreation() {
		return
	}
	var ref objectstate.CreationRef
	condition, pending := p.mg.GetCondition(commonv1.TypeCreated), p.now()
	if condition.Reason == commonv1.ReasonUnresolved {
		ref, pending = objectstate.ParseCreationRef(condition.Message), condition.LastTransitionTime.Time
	}
	if strings.HasSuffix(ref.Mark, "/"+attempt.Succeeded) {
		p.state.Made = ref

		return
	}
	id, _, _ := strings.Cut(ref.Mark, "/")
	p.state.Called = objectstate.Intent{Pending: pending.UTC().Format(time.RFC3339), Attempt: id}
}

// remembersCreation reports whether the state has a creation, or an attempt with unknown result.
func (o *objectState) remembersCreation() bool {
	nothing := objectstate.CreationRef{}

	return o.Seen != nothing || o.Made != nothing || o.Called != (objectstate.Intent{})
}

// asksAgain returns the text that the condition adds after a replace has removed all annotations once.
func (p *creationRecord) asksAgain() string {
	if said, _ := questionNote(p.mg); said != notedTaken {
		return ""
	}

	return textAgain
}

// questionNote returns the note that the user of an object was asked a question, and the time of the creation in
// question. The time is zero if the note has none.
func questionNote(mg resource.Managed) (said string, about time.Time) {
	said, text, dated := strings.Cut(mg.GetAnnotations()[meta.AnnotationKeyWasUnresolved], "/")
	if !dated {
		return said, time.Time{}
	}
	about, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return said, time.Time{}
	}

	return said, about
}

package managed

import (
	"fmt"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Messages about an external resource that a predecessor has created since the last creation of this runtime.
const (
	textSuperseded = "the runtime of %[1]s has created %[2]q for the object since this one last created anything for " +
		"it, and by its own external name, %[3]q, nothing is found: " +
		"if %[2]q is its external resource, set the annotation " + meta.AnnotationKeyExternalName +
		" to %[2]q; if it is not, or is gone, " +
		"remove the annotations %[1]s/external-name, %[1]s/external-create-pending and %[1]s/external-create-succeeded"
	textSupersededLeft = "the runtime of %[1]s has created %[2]q for the object since this one last created anything " +
		"for it, and the object stands for %[3]q, which is there, too: " +
		"if %[2]q is not needed, delete it in the external system, and remove the annotations %[1]s/external-name, " +
		"%[1]s/external-create-pending and %[1]s/external-create-succeeded; " +
		"if it is, set the annotation " + meta.AnnotationKeyExternalName + " to it"
)

// supersededAttempt returns the ID of the attempt with unknown result that is no longer looked up, because the object
// has taken over a later resource of a predecessor.
func (p *creationRecord) supersededAttempt() string {
	id, _ := attempt.Of(p.mg)

	return fmt.Sprintf("the object stands for %q now, which the runtime before has created; "+
		"whether the attempt %s to create its external resource here led to another one is not known: "+
		"look for it in the external system, and delete it if it is not needed", meta.GetExternalName(p.read), id)
}

// refusedAsSuperseded asks the user which of the two external resources belongs to the object.
func (p *creationRecord) refusedAsSuperseded(o outcome) outcome {
	err := p.supersededText(textSuperseded, p.superseded())
	if meta.WasDeleted(p.mg) {
		o.ready = commonv1.Deleting()
		err = errors.New(err.Error() + "; until then the object stays")
	}
	o.synced = unsynced(commonv1.ReasonCreationUnresolved, err.Error())
	o.event = event.Warning(reasonCannotInitialize, err)

	return o
}

// supersededText returns the message about a superseding creation.
func (p *creationRecord) supersededText(text, domain string) error {
	return p.redact(errors.Errorf(text, domain, p.read.GetAnnotations()[domain+keyName], meta.GetExternalName(p.mg)))
}

// superseded returns the domain of a predecessor that has created another resource since this runtime last began to
// create. The predecessor's external name then differs from the external name of the object. If there is none,
// superseded returns "". A predecessor that runs again does not know our name. If the user gives the object the name
// of the predecessor, the record of that creation is copied with it.
func (p *creationRecord) superseded() (domain string) {
	ours := meta.GetExternalName(p.mg)
	for _, domain := range p.r.predecessors {
		theirs := annotationOf(p.read, domain, keyName)
		if theirs != "" && theirs != ours && createdSince(p.mg, domain, p.now()) {
			return domain
		}
	}

	return ""
}

// createdSince reports whether a predecessor has created after the last creation here began or succeeded, according
// to the annotations. The time of a failure does not count, because the attempt began before it.
//
// If the user was asked about a creation and has removed its record, the answer also covers the predecessor's
// creations up to the time in the note. If the note has no time, the answer covers all of them.
func createdSince(mg resource.Managed, domain string, now time.Time) bool {
	theirs := annotationOf(mg, domain, keySucceeded)
	if theirs == "" || theirs == mg.GetAnnotations()[meta.AnnotationKeyExternalCreateSucceeded] {
		return false
	}
	succeeded, err := time.Parse(time.RFC3339, theirs)
	id, _ := attempt.Of(mg)
	said, about := questionNote(mg)
	ours := attempt.Latest(meta.GetExternalCreateSucceeded(mg), meta.GetExternalCreatePending(mg),
		attempt.TimeOf(id, now), about)
	answered := said != "" && ours.IsZero()

	return err == nil && !answered && succeeded.After(ours)
}

// annotationOf returns an annotation of a predecessor. It does not allocate, because each pass calls it several
// times.
func annotationOf(mg resource.Managed, domain, key string) string {
	var buffer [128]byte

	return mg.GetAnnotations()[string(append(append(buffer[:0], domain...), key...))]
}

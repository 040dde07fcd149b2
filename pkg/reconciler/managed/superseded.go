package managed

import (
	"fmt"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
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

// supersededAttempt returns the id of the attempt with unknown result, once the object stands for the later
// resource of a predecessor: its result is not looked up any more.
func (p *creationRecord) supersededAttempt() string {
	id, _ := attemptOf(p.mg)

	return fmt.Sprintf("the object stands for %q now, which the runtime before has created; "+
		"whether the attempt %s to create its external resource here led to another one is not known: "+
		"look for it in the external system, and delete it if it is not needed", meta.GetExternalName(p.read), id)
}

// refusedAsSuperseded asks the user for which of the two external resources the object stands.
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

// superseded returns the domain of the predecessor that has created since this runtime last began to create, under
// another external name than the object has, or "". A predecessor that runs again does not know our name. Once the
// user has given the object the name of the predecessor, its marks are copied with it.
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

// createdSince reports whether a predecessor has created after the last creation here was begun, or succeeded,
// according to the marks of the object. The time of a failure does not count: the attempt was begun before. If the
// user was asked about a creation and has removed its record, that answer covers the marks of the predecessor, too,
// up to the time of that creation, or all of them if the note has no time.
func createdSince(mg resource.Managed, domain string, now time.Time) bool {
	theirs := annotationOf(mg, domain, keySucceeded)
	if theirs == "" || theirs == mg.GetAnnotations()[meta.AnnotationKeyExternalCreateSucceeded] {
		return false
	}
	succeeded, err := time.Parse(time.RFC3339, theirs)
	id, _ := attemptOf(mg)
	said, about := questionNote(mg)
	ours := latest(meta.GetExternalCreateSucceeded(mg), meta.GetExternalCreatePending(mg), beginning(id, now), about)
	answered := said != "" && ours.IsZero()

	return err == nil && !answered && succeeded.After(ours)
}

// annotationOf returns an annotation of a predecessor. It does not allocate, because each pass calls it several
// times.
func annotationOf(mg resource.Managed, domain, key string) string {
	var buffer [128]byte

	return mg.GetAnnotations()[string(append(append(buffer[:0], domain...), key...))]
}

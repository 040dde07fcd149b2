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

// What a user is told of an external resource that a predecessor has created since the last creation of this runtime.
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

// superseded returns the domain of the predecessor that has created since this runtime last began to create, under
// another external name than the object has, and nothing if none has. A predecessor that runs again does not know our
// name. Once the user has given the object theirs, their marks are taken over with it.
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

// createdSince says whether a predecessor has created after the last creation here was begun, or succeeded, as far as
// the object is marked with it. That one failed does not tell: it was begun before. Whose user was asked about a
// creation, and has removed what was recorded of it, has answered for theirs, too, up to the time of that creation. A
// note without a time does not tell which one it was: the answer holds for all of theirs.
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

// annotationOf returns an annotation of a predecessor. Each pass asks for some, so that it makes no garbage.
func annotationOf(mg resource.Managed, domain, key string) string {
	var buffer [128]byte

	return mg.GetAnnotations()[string(append(append(buffer[:0], domain...), key...))]
}

// supersededText returns what is told of that.
func (p *creationRecord) supersededText(text, domain string) error {
	return p.redact(errors.Errorf(text, domain, p.read.GetAnnotations()[domain+keyName], meta.GetExternalName(p.mg)))
}

// supersededAttempt names the attempt to create here whose result is not known, once the object stands for what a
// predecessor has created since: nothing looks for its result any more.
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

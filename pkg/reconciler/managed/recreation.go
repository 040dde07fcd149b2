package managed

import (
	"fmt"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
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

// AwaitsRequest says whether nothing may be created before a user asks for it.
func (p *pass) awaitsRequest() bool {
	return p.r.recreateOnRequest && !p.r.named && p.wasSeen() &&
		p.mg.GetAnnotations()[meta.AnnotationKeyAllowRecreation] != p.creationID()
}

// CreationID returns what a user calls the last creation: the id of its attempt, or its
// time if another runtime made it.
func (p *pass) creationID() string {
	id, _, _ := strings.Cut(created(p.mg), "/")

	return id
}

// Unrequested is the outcome for what is missing although the policies of the object allow
// to create it.
func (p *pass) unrequested() outcome {
	text := fmt.Sprintf("the external resource %q was there and is not found any more: restore it, "+
		"or set the annotation %s to %q to have another created", meta.GetExternalName(p.mg), meta.AnnotationKeyAllowRecreation, p.creationID())

	return outcome{
		name: "awaiting-request", again: poll, progress: stuck,
		synced: unsynced(commonv1.ReasonRecreationNotRequested, text),
		event:  event.Warning(reasonMissing, errors.New(text)),
	}
}

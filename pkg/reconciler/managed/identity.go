package managed

import (
	"fmt"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A BackendIdentifier is an [ExternalClient] that can tell which external system
// it is connected to: the account, project or cluster, whatever the address. It
// is stored when something is created or adopted. When the object is later
// connected to another system, where its resource cannot be, nothing is called
// until its user allows the change: "not found" would be believed otherwise.
type BackendIdentifier interface {
	// Identity of the external system. Empty is not known.
	Identity() string
}

// checkBackend refuses a system that is not the one in which the resource is.
func (p *clientSession) checkBackend() error {
	if p.backend == nil {
		return nil
	}
	told := p.system
	annotations := p.mg.GetAnnotations()
	stored := annotations[meta.AnnotationKeyBackendIdentity]
	switch {
	case stored == "" || stored == told:
		return nil
	case told == "":
		return errors.Errorf("the client does not say which external system it is connected to; the external resource is "+
			"in %.128q", stored)
	case annotations[meta.AnnotationKeyAllowBackendChange] == told:
		p.warnLeftInBackend(stored)
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyBackendIdentity: told})

		return nil
	}

	return external.Terminal(string(commonv1.ReasonBackendChanged), errors.New(fmt.Sprintf(
		"the connection leads to %.128q, and the external resource is in %.128q%s: correct the connection, or set the "+
			"annotation %s to the former "+
			"if the resource is there, too, or is to be made there", told, stored, p.unresolvedInBackend(),
		meta.AnnotationKeyAllowBackendChange)))
}

// unresolvedInBackend names the attempt that was made in the former system, if its result is not known.
func (p *creationRecord) unresolvedInBackend() string {
	if !p.unresolved() {
		return ""
	}
	id, _ := attemptOf(p.mg)

	return strings.TrimSuffix(", where the result of an attempt to create it is not known: "+id, ": ")
}

// warnLeftInBackend tells what may be left over in the former system: nothing is called there any more. Of what was
// observed it is told when another is created. The change is stored at once, so that it is told once.
func (p *creationRecord) warnLeftInBackend(former string) {
	seen := p.wasSeen()
	if p.r.named { // there is no record
		seen = p.state.Seen != objectstate.CreationRef{} || isReady(p.read) || !p.hasFinalizer()
	}
	if seen || created(p.mg) == "" && !p.unresolved() && !p.r.named {
		return
	}
	p.restored = true
	known := "the attempt to create it has no id"
	if id, _ := attemptOf(p.mg); id != "" {
		known = "the attempt to create it was " + id
	}
	if name := meta.GetExternalName(p.mg); name != "" {
		known += fmt.Sprintf(", its external name is %q", name)
	}
	text := fmt.Sprintf("an external resource may be left over in %.128q, where it was created and not observed, and "+
		"where nothing is called any more (%s): "+
		"look for it there, and delete it", former, known)
	if p.isNewMessage(string(reasonLeft), text) {
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(text))))
	}
}

// storeBackend puts the identity of the system into the object, to be stored along
// with the intent to create, or once for a resource that was found.
func (p *clientSession) storeBackend() {
	if p.backend == nil || p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity] != "" || p.identity() == "" {
		return
	}
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyBackendIdentity: p.identity()})
}

// identity returns what the client says now of the external system: some learn that from their
// first call. One that panics says nothing.
func (p *clientSession) identity() (system string) {
	_ = panics.Call(func() error {
		system = p.backend.Identity()

		return nil
	})

	return system
}

// keepIdentity remembers of which system the object says that its resource is in.
func (p *object) keepIdentity() {
	stored := p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity]
	if known := p.state.Backend; stored != "" && (known == nil || *known != stored) {
		p.state.Backend = new(common(stored))
	}
}

// restoreIdentity puts back what the object said of the system that its resource is in, if
// somebody has taken it, and says whether that was so. Only this process knows it: a process
// that begins takes the system that it is connected to for that.
func (p *creationRecord) restoreIdentity() bool {
	p.keepIdentity()
	if p.state.Backend == nil || p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity] != "" {
		return false
	}
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyBackendIdentity: *p.state.Backend})
	p.log().Info("The external system of the object was removed from the metadata, and is restored", "identity",
		*p.state.Backend)

	return true
}

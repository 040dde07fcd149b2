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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// A BackendIdentifier is an [ExternalClient] that knows the identity of its external system, such as the account,
// project or cluster. The identity does not depend on the address. When an object creates or adopts a resource, the
// reconciler stores the identity in the object.
//
// If the client later connects to another system, the reconciler makes no call until the user allows the change.
// Otherwise "not found" in the wrong system would count as the absence of the resource.
type BackendIdentifier interface {
	// Identity returns the identity of the external system. Empty means unknown.
	Identity() string
}

// checkBackend returns an error if the client is connected to another external system than the one that has the
// resource.
func (p *clientSession) checkBackend() error {
	if p.backend == nil {
		return nil
	}
	connected := p.system
	annotations := p.mg.GetAnnotations()
	stored := annotations[meta.AnnotationKeyBackendIdentity]
	switch {
	case stored == "" || stored == connected:
		return nil
	case connected == "":
		return errors.Errorf("the client does not say which external system it is connected to; the external resource is "+
			"in %.128q", stored)
	case annotations[meta.AnnotationKeyAllowBackendChange] == connected:
		p.warnLeftInBackend(stored)
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyBackendIdentity: connected})

		return nil
	}

	return external.Terminal(string(commonv1.ReasonBackendChanged), errors.New(fmt.Sprintf(
		"the connection leads to %.128q, and the external resource is in %.128q%s: correct the connection, or set the "+
			"annotation %s to the former "+
			"if the resource is there, too, or is to be made there", connected, stored, p.unresolvedInBackend(),
		meta.AnnotationKeyAllowBackendChange)))
}

// warnLeftInBackend emits a warning about resources that may be left in the former system, because no call goes there
// any more. If the resource was observed, the warning is emitted when another resource is created. The change of the
// system is stored at once, so that the warning is emitted once.
func (p *creationRecord) warnLeftInBackend(former string) {
	seen := p.wasSeen()
	if p.r.named { // there is no record
		seen = p.state.Seen != objectstate.CreationRef{} || isReady(p.read) || !p.hasFinalizer()
	}
	if seen || attempt.CreationMark(p.mg) == "" && !p.unresolved() && !p.r.named {
		return
	}
	p.restored = true
	known := "the attempt to create it has no id"
	if id, _ := attempt.Of(p.mg); id != "" {
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

// unresolvedInBackend returns the id of the attempt that was made in the former system, if its result is unknown.
func (p *creationRecord) unresolvedInBackend() string {
	if !p.unresolved() {
		return ""
	}
	id, _ := attempt.Of(p.mg)

	return strings.TrimSuffix(", where the result of an attempt to create it is not known: "+id, ": ")
}

// storeBackend puts the identity of the system into the object. It is stored together with the record of a creation
// attempt, or once for a resource that was found.
func (p *clientSession) storeBackend() {
	if p.backend == nil || p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity] != "" || p.identity() == "" {
		return
	}
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyBackendIdentity: p.identity()})
}

// identity returns the current identity of the external system. Some clients know it only after their first call. If
// the client panics, the identity is unknown.
func (p *clientSession) identity() (system string) {
	_ = panics.Call(func() error {
		system = p.backend.Identity()

		return nil
	})

	return system
}

// restoreIdentity restores the stored identity of the external system if another writer has removed it, and reports
// whether it did. Only the memory of this process has the removed identity. After a restart the identity of the
// current system counts.
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

// keepIdentity remembers the identity of the external system that the object has stored.
func (p *object) keepIdentity() {
	stored := p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity]
	if known := p.state.Backend; stored != "" && (known == nil || *known != stored) {
		p.state.Backend = new(common(stored))
	}
}

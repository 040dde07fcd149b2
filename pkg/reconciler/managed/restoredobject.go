package managed

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// WithRestoreElsewhere lets an object that was restored from a backup under another namespace or name take over the
// external resource of the original object. The annotation moorage.dev/restored-from of the object has to name the
// original object. By default an object may take the resource over only if it has the kind, namespace and name of the
// original object.
//
// With this option, every user who may edit an object can name any [Stamp] that they know. Give the option only
// during a restore.
func WithRestoreElsewhere() ReconcilerOption {
	return func(r *Reconciler) { r.restoreElsewhere = true }
}

// recordOwnerBefore records the original object from which this object takes over the external resource. This object
// may then also take over the connection Secret of the original, in this pass or a later one.
func (p *creationRecord) recordOwnerBefore() {
	if p.takesOverRestored() {
		before := string(p.mg.GetUID()) + "/" + p.observation.OwnerStamp.part(stampUID)
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyRestoredOwner: before})
	}
}

// takesOverRestored reports whether the observed resource belongs to the original of this restored object and has to
// be taken over. A user requests that once for each UID. A value that Git writes again later has no effect.
func (p *creationRecord) takesOverRestored() bool {
	found := p.observation.OwnerStamp
	if p.observation.Owner != OwnerOther {
		return false
	}
	annotations := p.mg.GetAnnotations()
	from, cluster := annotations[meta.AnnotationKeyRestoredFrom], found.cluster()
	if from == "" || annotations[meta.AnnotationKeyRestored] == string(p.mg.GetUID()) {
		return false
	}
	here := found.names(p.stampOfKey())

	return from == string(found) && (here || p.r.restoreElsewhere && cluster != "") || from == cluster && here
}

// ownerBefore returns the stamp, without a cluster, of the original object whose external resource this object took
// over. If there is none, it returns "".
func (p *creationRecord) ownerBefore() (stamp Stamp) {
	own, before, _ := strings.Cut(p.mg.GetAnnotations()[meta.AnnotationKeyRestoredOwner], "/")
	if own == string(p.mg.GetUID()) && before != "" {
		stamp = Stamp(strings.TrimSuffix(string(p.stampOfKey()), own) + before)
	}

	return stamp
}

// restoredFrom returns how an object can take over the resource of the object from which it may have been restored.
// It returns "" if that is impossible.
func (p *creationRecord) restoredFrom() string {
	found := p.observation.OwnerStamp
	if !found.names(p.stampOfKey()) || strings.HasSuffix(string(found), "/"+string(p.mg.GetUID())) {
		return ""
	}

	return fmt.Sprintf("the external resource belongs to an object of the same kind, namespace and name, but another "+
		"UID or cluster, and is left as it is: "+
		"if this object was restored from a backup of that one, and that one is gone, set the annotation %s to %q, or to "+
		"%q for all that were restored from that cluster; "+
		"otherwise choose another name by the annotation %s",
		meta.AnnotationKeyRestoredFrom, found, found.cluster(), meta.AnnotationKeyExternalName)
}

// stampOfKey returns a stamp with the kind, namespace and name of the object; its cluster is unknown here.
func (p *creationRecord) stampOfKey() Stamp {
	return NewStamp("", schema.GroupKind{Group: p.r.of.Group, Kind: p.r.of.Kind}, p.mg)
}

// rememberFound remembers that an observation has found the resource of this object. If the object has no record of the
// creation of that resource, an earlier creation stays remembered: a replace may have changed the external name.
func (p *clientSession) rememberFound() {
	p.endRestore()
	p.seenOwned = true
	if ref := attempt.Creation(p.mg, p.mg); p.r.named || ref.Mark != "" {
		p.state.Seen, p.state.Made = ref, objectstate.CreationRef{}
		if ref.Mark != "" {
			p.state.Called = objectstate.Intent{} // its result is known
		}
	}
	p.storeBackend()
}

// endRestore removes the annotation that requested the takeover once the external resource has the stamp of this
// object, and records that the request was handled. The pass after the takeover calls it.
func (p *creationRecord) endRestore() {
	if p.claimed || p.observation.Owner != OwnerOurs || p.mg.GetAnnotations()[meta.AnnotationKeyRestoredFrom] == "" {
		return
	}
	meta.RemoveAnnotations(p.mg, meta.AnnotationKeyRestoredFrom)
	if own := string(p.mg.GetUID()); p.mg.GetAnnotations()[meta.AnnotationKeyRestored] != own {
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyRestored: own})
		p.recordEvent(event.Normal(reasonRestored, "The external resource was taken over after a restore"))
	}
}

package managed

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// WithRestoreElsewhere lets an object that was restored from a backup under another namespace
// or name take over the external resource of the one before it, too, if its annotation
// moorage.dev/restored-from says so. The default is that only what was restored under its own
// kind, namespace and name may. Whoever may edit an object can then name any stamp that they
// know: give it for the time of a restore.
func WithRestoreElsewhere() ReconcilerOption {
	return func(r *Reconciler) { r.restoreElsewhere = true }
}

// takesOverRestored says whether what was found belongs to the object that this one was
// restored from, and is to be taken over from it. A user says so once for each UID: what Git
// writes again later takes nothing over.
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

// stampOfKey returns a stamp with the kind, namespace and name of the object; its cluster is
// not known here.
func (p *creationRecord) stampOfKey() Stamp {
	return NewStamp("", schema.GroupKind{Group: p.r.of.Group, Kind: p.r.of.Kind}, p.mg)
}

// recordOwnerBefore records from which object this one takes its external resource over: it may
// take the connection Secret of that one over as well, in this pass or a later one.
func (p *creationRecord) recordOwnerBefore() {
	if p.takesOverRestored() {
		before := string(p.mg.GetUID()) + "/" + p.observation.OwnerStamp.part(stampUID)
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyRestoredOwner: before})
	}
}

// ownerBefore returns the stamp, without a cluster, that this object had under the UID of the one
// whose external resource it took over, or nothing.
func (p *creationRecord) ownerBefore() (stamp Stamp) {
	own, before, _ := strings.Cut(p.mg.GetAnnotations()[meta.AnnotationKeyRestoredOwner], "/")
	if own == string(p.mg.GetUID()) && before != "" {
		stamp = Stamp(strings.TrimSuffix(string(p.stampOfKey()), own) + before)
	}

	return stamp
}

// endRestore takes the annotation of a user away once the external resource bears the mark of
// this object, and notes that it has had its effect. What a pass has taken over the next one
// notes.
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

// restoredFrom says how an object takes over what belongs to the one that it may have been
// restored from, or nothing if that cannot be so.
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

// rememberFound keeps in mind that an observation has found what is ours. What bears no record of
// a creation does not take the place of what is known of one: until it has a record of its own, a
// replace can take its name.
func (p *clientSession) rememberFound() {
	p.endRestore()
	p.seenOwned = true
	if ref := creation(p.mg, p.mg); p.r.named || ref.Mark != "" {
		p.state.Seen, p.state.Made = ref, objectstate.CreationRef{}
		if ref.Mark != "" {
			p.state.Called = objectstate.Intent{} // its result is known
		}
	}
	p.storeBackend()
}

package managed

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// keepBond remembers what is left over if the object goes and is not let go by a pass.
func (p *pass) keepBond() {
	p.last.May.Delete = p.r.permissions(p.mg).Delete && !p.spared
	made := p.acted && (p.made || p.memo.Called != objectstate.Intent{}) // after the last facts
	bond := p.last.Bond()
	switch {
	case p.released || bond == lifecycle.Free && !(made && p.last.May.Delete):
		p.memo.Stays = true
	case bond == lifecycle.Bound || made:
		p.memo.Stays = false
	}
	held := !p.released && p.held()
	p.memo.Kept = p.memo.Kept || held
	unlooked := bond == lifecycle.Unchanged && !p.waits && p.memo.Seen == objectstate.CreationRef{}
	switch {
	case !p.memo.Kept || p.released || !meta.WasDeleted(p.mg) && !p.unseen() && !unlooked:
		p.memo.Leaves = ""
	case p.memo.Leaves == "" || p.acted || p.memo.DeleteSent.IsZero(): // what a Delete was sent for keeps its name
		p.memo.Leaves = meta.GetExternalName(p.mg)
	}
}

// left says what the object leaves outside if it goes now, as far as this process knows: its
// external name, or the attempt to create it, and nothing if there is nothing.
func (o *memo) left() string {
	name, attempt, anything := o.known()
	if o.troubles != nil && name == "" && !o.Gone && !o.FinalizerRemoved {
		name = o.Leaves
	}
	switch {
	case o.Stays || !o.Kept || !anything && name == "":
		return ""
	case name != "":
		return fmt.Sprintf("the external resource %q may be left over: delete it there, or create the object again with the annotation %s set to its name",
			name, meta.AnnotationKeyExternalName)
	default:
		return fmt.Sprintf("an external resource may be left over whose name is not known (the attempt to create it was %s): look for it in the external system, "+
			"and delete it, or create the object again with the annotation %s set to its name", attempt, meta.AnnotationKeyExternalName)
	}
}

// letGo removes the finalizer, and tells what nobody will look for any more.
func (p *pass) letGo(ctx context.Context) error {
	left := p.orphanedAttempt()
	if left == "" && p.ownerChanged() {
		left = p.ownerChangedText()
	}
	err := p.release(ctx)
	if p.released && left != "" {
		p.tell(event.Warning(reasonLeft, p.redact(errors.New(left))))
	}

	return err
}

// orphanedAttempt names the attempt to create whose result is not known, if the object goes without its
// external resource.
func (p *pass) orphanedAttempt() string {
	if p.may().Delete || !p.unresolved() {
		return ""
	}
	id, _ := attempt(p.mg)

	return fmt.Sprintf("the object goes and its policies leave the external resource where it is; whether there is one is not known "+
		"(the attempt to create it was %s): look for it in the external system, if it is needed or not wanted", id)
}

// TextUnheld is told of an object that was deleted without a pass having let it go.
const textUnheld = "the finalizer was taken from the object before its deletion had come to its end; "

// takenBefore says whether somebody took the finalizer from a deleted object before this process has seen it.
func (p *pass) takenBefore() bool {
	switch {
	case p.memo.Kept || p.r.finalizer != nil || !p.r.permissions(p.mg).Delete:
		return false
	case meta.FinalizerExists(p.mg, UnclaimedFinalizer): // a pass that lets an object go takes it as well
		return p.marked()
	default:
		return len(p.awaited()) > 0 && p.unfinished()
	}
}

// marked says whether the object says that something was created or adopted for it.
func (p *pass) marked() bool {
	if p.r.named { // there is no record
		return isReady(p.mg) || p.mg.GetCondition(commonv1.TypeReady).Reason == commonv1.ReasonDeleting
	}

	return created(p.mg) != "" || p.unresolved()
}

// unfinished says whether the last pass over a deleted object that told how it ended could not have been followed by
// one that let it go: it failed, or waited for others.
func (p *pass) unfinished() bool {
	ready, synced := p.mg.GetCondition(commonv1.TypeReady), p.mg.GetCondition(commonv1.TypeSynced)

	return ready.Reason == commonv1.ReasonDeleting && (synced.Status == metav1.ConditionFalse || strings.Contains(synced.Message, textAwaiting))
}

// tellLeft tells once of an object that others still keep.
func (p *pass) tellLeft() {
	if p.takenBefore() {
		p.memo.Kept, p.memo.Leaves = true, meta.GetExternalName(p.mg)
	}
	if left := p.memo.left(); left != "" {
		p.memo.Stays = true
		p.tell(event.Warning(reasonLeft, p.redact(errors.New(textUnheld+left))))
	}
}

// mayBeThere says whether an object that a cache has no more leaves something outside, and the
// API server itself does not say that it is gone.
func (r *Reconciler) mayBeThere(ctx context.Context, key types.NamespacedName) bool {
	uid, known := r.memory.At(key)
	if known == nil || known.left() == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	confirmed, err := gone.Confirmed(ctx, r.cluster.GetAPIReader(), r.stub(key, uid))

	return err != nil || !confirmed
}

// tellGone tells of the object that had a name, unless it is that with the UID, if it is gone
// and no pass has let it go.
func (r *Reconciler) tellGone(key types.NamespacedName, now types.UID) {
	uid, known := r.memory.At(key)
	if known == nil || uid == now || known.left() == "" {
		return
	}
	err := redact.Error(errors.New(textUnheld + known.left()))
	logging.Error(r.log, err, "An object is gone and was not let go", "kind", r.of.Kind, "object", key.String(), "uid", uid)
	record := r.record
	if r.warn != nil {
		record = r.warn
	}
	record.Event(r.stub(key, uid), event.Warning(reasonLeft, err))
}

// stub returns an object of which nothing but its name and UID is known, for events about it.
func (r *Reconciler) stub(key types.NamespacedName, uid types.UID) resource.Managed {
	mg := r.newManaged()
	mg.SetNamespace(key.Namespace)
	mg.SetName(key.Name)
	mg.SetUID(uid)
	mg.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind(r.of))

	return mg
}

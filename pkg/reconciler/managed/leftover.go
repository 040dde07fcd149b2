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
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// leftover says what the object leaves outside if it goes now, as far as this process knows: its
// external name, or the attempt to create it, and nothing if there is nothing.
func (o *objectState) leftover() string {
	name, attempt, anything := o.known()
	if o.coldState != nil && name == "" && !o.Gone && !o.FinalizerRemoved {
		name = o.LeftoverName
	}
	switch {
	case o.Stays || !o.Kept || !anything && name == "":
		return ""
	case name != "":
		return fmt.Sprintf("the external resource %q may be left over: delete it there, or create the object again with "+
			"the annotation %s set to its name",
			name, meta.AnnotationKeyExternalName)
	default:
		return fmt.Sprintf("an external resource may be left over whose name is not known (the attempt to create it was "+
			"%s): look for it in the external system, "+
			"and delete it, or create the object again with the annotation %s set to its name", attempt,
			meta.AnnotationKeyExternalName)
	}
}

// finishDeletion removes the finalizer, and tells what nobody will look for any more.
func (p *creationRecord) finishDeletion(ctx context.Context) error {
	left := p.orphanedAttempt()
	if left == "" && p.ownerChanged() {
		left = p.ownerChangedText()
	}
	err := p.removeFinalizer(ctx)
	if p.released && left != "" {
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(left))))
	}

	return err
}

// orphanedAttempt names the attempt to create whose result is not known, if the object goes without its
// external resource.
func (p *creationRecord) orphanedAttempt() string {
	if p.may().Delete || !p.unresolved() {
		return ""
	}
	id, _ := attemptOf(p.mg)

	return fmt.Sprintf("the object goes and its policies leave the external resource where it is; whether there is one "+
		"is not known "+
		"(the attempt to create it was %s): look for it in the external system, if it is needed or not wanted", id)
}

// TextUnheld is told of an object that was deleted without a pass having let it go.
const textUnheld = "the finalizer was taken from the object before its deletion had come to its end; "

// takenBefore says whether somebody took the finalizer from a deleted object before this process has seen it.
func (p *creationRecord) takenBefore() bool {
	switch {
	case p.state.Kept || p.r.finalizer != nil || !p.r.permissions(p.mg).Delete:
		return false
	case meta.FinalizerExists(p.mg, UnclaimedFinalizer): // a pass that lets an object go takes it as well
		return p.marked()
	default:
		return len(p.foreignFinalizers()) > 0 && p.unfinished()
	}
}

// marked says whether the object says that something was created or adopted for it.
func (p *creationRecord) marked() bool {
	if p.r.named { // there is no record
		return isReady(p.mg) || p.mg.GetCondition(commonv1.TypeReady).Reason == commonv1.ReasonDeleting
	}

	return created(p.mg) != "" || p.unresolved()
}

// unfinished says whether the last pass over a deleted object that told how it ended could not have been followed by
// one that let it go: it failed, or waited for others.
func (p *creationRecord) unfinished() bool {
	ready, synced := p.mg.GetCondition(commonv1.TypeReady), p.mg.GetCondition(commonv1.TypeSynced)

	return ready.Reason == commonv1.ReasonDeleting &&
		(synced.Status == metav1.ConditionFalse || strings.Contains(synced.Message, textWaitingForFinalizers))
}

// warnLeft tells once of an object that others still keep.
func (p *creationRecord) warnLeft() {
	if p.takenBefore() {
		p.state.Kept, p.state.LeftoverName = true, meta.GetExternalName(p.mg)
	}
	if left := p.state.leftover(); left != "" {
		p.state.Stays = true
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(textUnheld+left))))
	}
}

// mayBeThere says whether an object that a cache has no more leaves something outside, and the
// API server itself does not say that it is gone.
func (r *Reconciler) mayBeThere(ctx context.Context, key types.NamespacedName) bool {
	uid, known := r.objects.At(key)
	if known == nil || known.leftover() == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	confirmed, err := gone.Confirmed(ctx, r.cluster.GetAPIReader(), r.placeholder(key, uid))

	return err != nil || !confirmed
}

// warnDeleted tells of the object that had a name, unless it is that with the UID, if it is gone
// and no pass has let it go.
func (r *Reconciler) warnDeleted(key types.NamespacedName, now types.UID) {
	uid, known := r.objects.At(key)
	if known == nil || uid == now || known.leftover() == "" {
		return
	}
	err := redact.Error(errors.New(textUnheld + known.leftover()))
	logging.Error(r.log, err, "An object is gone and was not let go", "kind", r.of.Kind, "object", key.String(),
		"uid", uid)
	record := r.recorder
	if r.warningRecorder != nil {
		record = r.warningRecorder
	}
	record.Event(r.placeholder(key, uid), event.Warning(reasonLeft, err))
}

// placeholder returns an object of which nothing but its name and UID is known, for events about it.
func (r *Reconciler) placeholder(key types.NamespacedName, uid types.UID) resource.Managed {
	mg := r.newManaged()
	mg.SetNamespace(key.Namespace)
	mg.SetName(key.Name)
	mg.SetUID(uid)
	mg.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind(r.of))

	return mg
}

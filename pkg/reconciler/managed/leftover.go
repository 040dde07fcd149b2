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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// finishDeletion removes the finalizer, and reports an attempt whose result will not be looked up any more.
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

// orphanedAttempt returns the id of the attempt to create with unknown result, if the object is removed without its
// external resource.
func (p *creationRecord) orphanedAttempt() string {
	if p.may().Delete || !p.unresolved() {
		return ""
	}
	id, _ := attempt.Of(p.mg)

	return fmt.Sprintf("the object goes and its policies leave the external resource where it is; whether there is one "+
		"is not known "+
		"(the attempt to create it was %s): look for it in the external system, if it is needed or not wanted", id)
}

// warnLeft emits the warning ExternalResourceLeft once, for an object that other finalizers still keep.
func (p *creationRecord) warnLeft() {
	if p.takenBefore() {
		p.state.HadFinalizer, p.state.LeftoverName = true, meta.GetExternalName(p.mg)
	}
	if left := p.state.leftover(); left != "" {
		p.state.NoLeftover = true
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(textUnheld+left))))
	}
}

// textUnheld is the message about an object that was removed before a pass had removed the finalizer.
const textUnheld = "the finalizer was taken from the object before its deletion had come to its end; "

// takenBefore reports whether the finalizer was removed from a deleted object before this process has seen it.
func (p *creationRecord) takenBefore() bool {
	switch {
	case p.state.HadFinalizer || p.r.finalizer != nil || !p.r.permissions(p.mg).Delete:
		return false
	case meta.FinalizerExists(p.mg, UnclaimedFinalizer): // a pass that removes the finalizer removes this one as well
		return p.marked()
	default:
		return len(p.foreignFinalizers()) > 0 && p.unfinished()
	}
}

// marked reports whether the annotations of the object record that a resource was created or adopted for it.
func (p *creationRecord) marked() bool {
	if p.r.named { // there is no record
		return isReady(p.mg) || p.mg.GetCondition(commonv1.TypeReady).Reason == commonv1.ReasonDeleting
	}

	return attempt.CreationMark(p.mg) != "" || p.unresolved()
}

// unfinished reports whether the last reported pass over a deleted object failed or waited for other finalizers. Then
// no later pass can have removed the finalizer.
func (p *creationRecord) unfinished() bool {
	ready, synced := p.mg.GetCondition(commonv1.TypeReady), p.mg.GetCondition(commonv1.TypeSynced)

	return ready.Reason == commonv1.ReasonDeleting &&
		(synced.Status == metav1.ConditionFalse || strings.Contains(synced.Message, textWaitingForFinalizers))
}

// mayBeThere reports whether an object that is missing from the cache may still exist and would leave a resource in
// the external system. It returns false if the API server confirms that the object is gone.
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

// warnDeleted emits the warning ExternalResourceLeft for an object with the given name that is gone, if no pass has
// removed its finalizer. It ignores an object with the UID now, which still exists.
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

// leftover returns what would stay in the external system if the object were removed now, as far as this process
// knows. The result is the external name, or the attempt to create it, or "".
func (o *objectState) leftover() string {
	name, attempt, anything := o.known()
	if o.coldState != nil && name == "" && !o.Gone && !o.FinalizerRemoved {
		name = o.LeftoverName
	}
	switch {
	case o.NoLeftover || !o.HadFinalizer || !anything && name == "":
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

// placeholder returns an object with only a name and a UID, for events about it.
func (r *Reconciler) placeholder(key types.NamespacedName, uid types.UID) resource.Managed {
	mg := r.newManaged()
	mg.SetNamespace(key.Namespace)
	mg.SetName(key.Name)
	mg.SetUID(uid)
	mg.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind(r.of))

	return mg
}

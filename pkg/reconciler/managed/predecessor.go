package managed

import (
	"fmt"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithPredecessor names the annotation domain of the runtime that reconciled the objects before this one, such as
// "crossplane.io". That runtime is the predecessor. The reconciler then respects the annotations of the predecessor:
//
//   - DOMAIN/paused: "true" pauses the object, as [meta.AnnotationKeyReconciliationPaused] does. It has no effect if
//     [meta.AnnotationKeyReconciliationPaused] has a value. To resume, set [meta.AnnotationKeyReconciliationPaused] to
//     "false", or remove both annotations.
//   - DOMAIN/external-name and DOMAIN/external-create-pending, -succeeded and -failed count as the annotations of this
//     runtime, if this runtime has recorded no creation of the object. The first write stores them under the keys of
//     this runtime.
//   - DOMAIN/external-create-succeeded may show that the predecessor ran again and created another resource. It shows
//     this if it is later than the last creation of this runtime, and DOMAIN/external-name differs from the external
//     name here. If no resource is found under the name here, a user has to choose one of the two names. Until then,
//     the reconciler creates nothing and ends no deletion. If the user chooses the name of the predecessor, the object
//     takes over the annotations of that creation.
//
// The annotations of the predecessor stay on the object, so that the predecessor finds them after a rollback.
// [WithRetiredAnnotations] removes them.
//
// Give the option once for each predecessor. A pause by any predecessor counts. Names and records of creations are
// taken from the first predecessor whose annotations the object has. A domain in which this runtime stores its own
// annotations is an error, see [NewReconciler].
func WithPredecessor(domain string) ReconcilerOption {
	return func(r *Reconciler) { r.predecessors = append(r.predecessors, domain) }
}

// WithRetiredFinalizers names finalizers of predecessors, which no process removes any more. The reconciler first
// stores its own finalizer, and removes the retired finalizers in a later write. A deletion does not wait for them.
//
// An object may be deleted when it has a retired finalizer but not the finalizer of this reconciler. The reconciler
// then deletes the external resource first, and removes the retired finalizer afterwards.
//
// If [WithFinalizer] is given, the RemoveFinalizer of that finalizer has to remove the retired finalizers. If it is not
// given, [FinalizerName] cannot be retired.
func WithRetiredFinalizers(names ...string) ReconcilerOption {
	return func(r *Reconciler) {
		WithIgnoredFinalizers(names...)(r)
		r.retired.finalizers = append(r.retired.finalizers, names...)
	}
}

// WithRetiredAnnotations names annotations of predecessors. The reconciler removes them from each object that has the
// finalizer of the reconciler, unless the object is paused or being deleted. Without these annotations the predecessor
// no longer knows the external resource. So give this option only when a rollback is no longer needed. The annotations
// of this reconciler cannot be retired.
func WithRetiredAnnotations(names ...string) ReconcilerOption {
	return func(r *Reconciler) { r.retired.annotations = append(r.retired.annotations, names...) }
}

// retired has the finalizers and annotations that predecessors left on objects.
type retired struct{ finalizers, annotations []string }

// removeFinalizers removes the finalizers of predecessors, and [UnclaimedFinalizer], from the object.
func (t *retired) removeFinalizers(mg resource.Managed) {
	meta.RemoveFinalizer(mg, UnclaimedFinalizer)
	for _, name := range t.finalizers {
		meta.RemoveFinalizer(mg, name)
	}
}

// whyPaused returns how to resume an object that an annotation of a predecessor pauses. It also covers an object
// whose annotation of this runtime hides that of a predecessor.
func (r *Reconciler) whyPaused(mg resource.Managed) string {
	const ours = meta.AnnotationKeyReconciliationPaused
	theirs := r.theirPause(mg)
	switch {
	case theirs == "":
		return ""
	case meta.IsPaused(mg):
		return fmt.Sprintf("paused by the annotations %s and %s: to resume, set %[1]s to \"false\", or remove both",
			ours, theirs)
	}

	return fmt.Sprintf("paused by the annotation %s: to resume, remove it, or set %s to \"false\"", theirs, ours)
}

// The annotations of a predecessor, without its domain, that show whether it has created since.
const (
	keyName      = "/external-name"
	keySucceeded = "/external-create-succeeded"
)

// inheritable maps the marks of a predecessor to those of this runtime.
var inheritable = map[string]string{
	keyName:                    meta.AnnotationKeyExternalName,
	"/external-create-pending": meta.AnnotationKeyExternalCreatePending,
	keySucceeded:               meta.AnnotationKeyExternalCreateSucceeded,
	"/external-create-failed":  meta.AnnotationKeyExternalCreateFailed,
}

// takeOverMarks copies the annotations about a creation from the keys of a predecessor to the keys of this runtime.
// It does so for an object without any record of this runtime. It also does so for an object with the external name
// of a resource that the predecessor has created since. The annotations are stored also if the object is being
// deleted. In the next pass this process knows the object, and a user may be asked to remove some of them.
func (p *creationRecord) takeOverMarks() bool {
	marks := p.theirMarks()
	if p.restored || len(marks) == 0 {
		return false
	}
	stored := !p.r.halted(p.mg)
	if stored && p.unresolved() {
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(p.supersededAttempt()))))
	}
	attempt.RemoveRecord(p.mg)
	meta.AddAnnotations(p.mg, marks)

	return stored
}

// retires removes the annotations and finalizers of predecessors from an object that has our finalizer, and reports
// whether there were any.
func (p *creationRecord) retires() bool {
	if len(p.r.retired.finalizers)+len(p.r.retired.annotations) == 0 {
		return false
	}
	held := meta.FinalizerExists(p.read, FinalizerName) ||
		p.r.finalizer != nil && p.state.Seen != objectstate.CreationRef{}
	if !held || meta.WasDeleted(p.mg) || p.r.halted(p.mg) || len(p.theirMarks()) > 0 {
		return false
	}
	before := len(p.mg.GetAnnotations())
	if p.superseded() == "" { // otherwise a user is asked about them
		meta.RemoveAnnotations(p.mg, p.r.retired.annotations...)
	}

	return len(p.mg.GetAnnotations()) < before || p.r.retired.on(p.mg)
}

// halted reports whether a user has paused the object.
func (r *Reconciler) halted(mg resource.Managed) bool { return r.pausedBy(mg) || policies(mg).Paused() }

// pausedBy reports whether an annotation pauses the object. The annotation of a predecessor counts only if the object
// has none of this runtime.
func (r *Reconciler) pausedBy(mg resource.Managed) bool {
	annotations := mg.GetAnnotations()
	if annotations[meta.AnnotationKeyReconciliationPaused] != "" || len(r.predecessors) == 0 {
		return meta.IsPaused(mg)
	}

	return r.theirPause(mg) != ""
}

// theirPause returns the annotation by which a predecessor paused the object.
func (r *Reconciler) theirPause(mg resource.Managed) string {
	for _, domain := range r.predecessors {
		if key := domain + "/paused"; mg.GetAnnotations()[key] == "true" {
			return key
		}
	}

	return ""
}

// theirMarks returns the annotations about a creation of the first predecessor that left any, under the keys of this
// runtime. It returns nil if they do not count.
func (p *object) theirMarks() map[string]string {
	if len(p.r.predecessors) == 0 {
		return nil
	}
	never, name := p.neverHeld(), meta.GetExternalName(p.read)
	for _, domain := range p.r.predecessors {
		since := name != "" && annotationOf(p.read, domain, keyName) == name && createdSince(p.read, domain, p.now())
		if !never && !since && (!p.r.named || name != "") {
			continue // the common case
		}
		marks := map[string]string{}
		for theirs, ours := range inheritable {
			if value := p.read.GetAnnotations()[domain+theirs]; value != "" {
				marks[ours] = value
			}
		}
		switch {
		case len(marks) == 0:
		case never:
			return besideOurName(marks, name)
		case since, p.tookOver(marks[meta.AnnotationKeyExternalName]):
			return marks
		default:
			return nil
		}
	}

	return nil
}

// creationRecords are the annotations that show that a creation was recorded here, or that a user has said what
// became of one. A user may have set the external name, and the other marks do not show whether anything was
// created.
var creationRecords = []string{
	meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
	meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyOperation,
	meta.AnnotationKeyCreationDetails, meta.AnnotationKeyRestored, meta.AnnotationKeyRestoredOwner,
	meta.AnnotationKeyWasUnresolved,
}

// createdReasons are the reasons of the condition Created as this runtime sets it: a provider may have a condition
// of its own of that type.
var createdReasons = []commonv1.ConditionReason{commonv1.ReasonObserved, commonv1.ReasonUnresolved,
	commonv1.ReasonGivenUp}

// neverHeld reports whether nothing shows that this runtime has recorded a creation of the object. It checks the
// annotations, the status and the memory of this process.
//
// Our finalizer shows nothing. It may have been stored without the annotations that were to be copied with it, or a
// replace may have removed these. With deterministic names only our finalizer shows a creation here. It does so only
// if the object has no finalizer of a predecessor, which is removed later.
func (p *object) neverHeld() bool {
	for _, key := range creationRecords {
		if p.read.GetAnnotations()[key] != "" {
			return false
		}
	}
	_, _, known := p.state.known()
	recorded := slices.Contains(createdReasons, p.mg.GetCondition(commonv1.TypeCreated).Reason) ||
		p.r.named && meta.FinalizerExists(p.read, FinalizerName) && !p.r.retired.on(p.read)

	return !known && !recorded && p.state.Seen == objectstate.CreationRef{}
}

// on reports whether a finalizer of a predecessor is on the object.
func (t *retired) on(mg resource.Managed) bool {
	return slices.ContainsFunc(t.finalizers, func(name string) bool { return meta.FinalizerExists(mg, name) })
}

// besideOurName returns the annotations of a predecessor that count on an object with an external name of this
// runtime. A user or moorage migrate objects has set that name. If the predecessor has another name, the two names
// are two resources, and the name of this runtime stays. A creation under the other name does not count as a creation
// under ours, and the user is asked.
func besideOurName(marks map[string]string, ours string) map[string]string {
	theirs := marks[meta.AnnotationKeyExternalName]
	switch {
	case ours == "" || theirs == "" || theirs == ours:
		return marks
	case marks[meta.AnnotationKeyExternalCreateSucceeded] != "":
		return nil
	}
	delete(marks, meta.AnnotationKeyExternalName)

	return marks
}

// tookOver reports whether the object took over this name of a predecessor, and another writer has removed our
// annotation since. With deterministic names there is no record of a creation from which the name could be restored.
func (p *object) tookOver(name string) bool {
	if !p.r.named || name == "" || meta.GetExternalName(p.read) != "" {
		return false
	}
	known, _, _ := p.state.known()
	if known == "" {
		known = objectstate.ParseCreationRef(p.mg.GetCondition(commonv1.TypeCreated).Message).Name
	}

	return known == name
}

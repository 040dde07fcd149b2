package managed

import (
	"fmt"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithPredecessor names the annotation domain of the runtime that reconciled the objects
// before this one, such as "crossplane.io". Its annotations are respected:
//
//   - DOMAIN/paused: "true" pauses the object, as [meta.AnnotationKeyReconciliationPaused]
//     does. It counts as long as the latter is missing or empty: to resume, set the latter to
//     "false", or remove both.
//   - DOMAIN/external-name and DOMAIN/external-create-pending, -succeeded and -failed count
//     as the annotations of this runtime if this one has recorded no creation of the object. The
//     first write stores them under the names of this runtime.
//   - If DOMAIN/external-name is another name than the object has here, and
//     DOMAIN/external-create-succeeded is later than the last creation here, the predecessor
//     has created since. If nothing is found by the name here, nothing is created, and a
//     deletion does not end, before a user says which of the two names counts. With theirs
//     the object takes over the marks of that creation.
//
// The annotations of the predecessor stay on the object, so that the predecessor finds them
// after a rollback; [WithRetiredAnnotations] removes them. Give the option once for each
// predecessor: a pause of any of them counts, and names and marks are taken from the first
// that left any. A domain in which this runtime stores its own annotations is an error, see
// [NewReconciler].
func WithPredecessor(domain string) ReconcilerOption {
	return func(r *Reconciler) { r.predecessors = append(r.predecessors, domain) }
}

// WithRetiredFinalizers names finalizers of predecessors, which no process removes any more.
// The reconciler removes them by a write after the one that stored its own finalizer. A
// deletion does not wait for them. On an object that is being deleted without
// the finalizer of this reconciler, a retired one takes its place: the external resource is
// deleted first, then the finalizer is removed. With [WithFinalizer], its RemoveFinalizer has
// to remove retired ones; without it, [FinalizerName] cannot be retired.
func WithRetiredFinalizers(names ...string) ReconcilerOption {
	return func(r *Reconciler) {
		WithIgnoredFinalizers(names...)(r)
		r.retired.finalizers = append(r.retired.finalizers, names...)
	}
}

// WithRetiredAnnotations names annotations of predecessors that the reconciler removes once an
// object has its finalizer. Without them the predecessor does not know the object any more, so
// give this option only when there is no way back. An object that is paused or being deleted
// keeps them. Those in which this reconciler records a creation cannot be retired.
func WithRetiredAnnotations(names ...string) ReconcilerOption {
	return func(r *Reconciler) { r.retired.annotations = append(r.retired.annotations, names...) }
}

// Retired is what predecessors left on objects.
type retired struct{ finalizers, annotations []string }

// on says whether a finalizer of a predecessor is on the object.
func (t *retired) on(mg resource.Managed) bool {
	return slices.ContainsFunc(t.finalizers, func(name string) bool { return meta.FinalizerExists(mg, name) })
}

// removeFinalizers takes the finalizers of predecessors from the object, and that of an object that nobody has claimed.
func (t *retired) removeFinalizers(mg resource.Managed) {
	meta.RemoveFinalizer(mg, UnclaimedFinalizer)
	for _, name := range t.finalizers {
		meta.RemoveFinalizer(mg, name)
	}
}

// halted says whether a user wants nothing to be done.
func (r *Reconciler) halted(mg resource.Managed) bool { return r.pausedBy(mg) || policies(mg).Paused() }

// pausedBy says whether an annotation says so: ours, or if there is none that of a predecessor.
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

// whyPaused says how a pause ends that a predecessor's annotation holds, or would hold without ours.
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

// The annotations of a predecessor, behind its domain, by which it is asked whether it has created since.
const (
	keyName      = "/external-name"
	keySucceeded = "/external-create-succeeded"
)

// The marks of a predecessor, and what they are here.
var inheritable = map[string]string{
	keyName:                    meta.AnnotationKeyExternalName,
	"/external-create-pending": meta.AnnotationKeyExternalCreatePending,
	keySucceeded:               meta.AnnotationKeyExternalCreateSucceeded,
	"/external-create-failed":  meta.AnnotationKeyExternalCreateFailed,
}

// takeOverMarks gives an object of which nothing was recorded here the marks of a predecessor, and one that has the
// external name of what a predecessor has created since. They are stored also if it is being deleted: in the next pass
// this process knows the object, and a user may be asked to remove some of them.
func (p *creationRecord) takeOverMarks() bool {
	marks := p.theirMarks()
	if p.restored || len(marks) == 0 {
		return false
	}
	stored := !p.r.halted(p.mg)
	if stored && p.unresolved() {
		p.recordEvent(event.Warning(reasonLeft, p.redact(errors.New(p.supersededAttempt()))))
	}
	removeRecord(p.mg)
	meta.AddAnnotations(p.mg, marks)

	return stored
}

// theirMarks returns the marks of the first predecessor that left any, if they count, by the names that they have here.
func (p *object) theirMarks() map[string]string {
	if len(p.r.predecessors) == 0 {
		return nil
	}
	never, name := p.neverHeld(), meta.GetExternalName(p.read)
	for _, domain := range p.r.predecessors {
		since := name != "" && annotationOf(p.read, domain, keyName) == name && createdSince(p.read, domain, p.now())
		if !never && !since && (!p.r.named || name != "") {
			continue // as in nearly every pass
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

// besideOurName returns the marks of a predecessor that count on an object to which an external name was given here
// already, by a user or by moorage migrate objects. If theirs is another one, two names are two resources: ours
// stays. What was created under theirs is not taken for a creation under ours, and a user is asked.
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

// What tells that a creation was recorded here, or that a user has answered what became of one. An external name may
// have been given by a user, and the other marks do not tell whether anything was created.
var creationRecords = []string{
	meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
	meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyOperation,
	meta.AnnotationKeyCreationDetails, meta.AnnotationKeyRestored, meta.AnnotationKeyRestoredOwner,
	meta.AnnotationKeyWasUnresolved,
}

// The reasons of the condition Created as this runtime sets it: a provider may have a condition of its own of that
// name.
var createdReasons = []commonv1.ConditionReason{commonv1.ReasonObserved, commonv1.ReasonUnresolved,
	commonv1.ReasonGivenUp}

// neverHeld says whether nothing tells that this runtime has recorded a creation of the object: no mark of one, no
// record in the status, and nothing that this process knows. Our finalizer does not tell: it may have been stored
// without the marks that were to be taken over with it, or a replace may have taken these. Where names are chosen it
// is all that may tell of a creation here; but not while the finalizer of a predecessor is beside it, which goes
// after that.
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

// tookOver says whether the object was taken over by this name of a predecessor, and somebody has taken ours away
// since. Where names are chosen there is no record of a creation by which it could be put back.
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

// retires takes away what predecessors left on an object that has our finalizer, and says whether there was anything.
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
	if p.superseded() == "" { // or else a user is asked about them
		meta.RemoveAnnotations(p.mg, p.r.retired.annotations...)
	}

	return len(p.mg.GetAnnotations()) < before || p.r.retired.on(p.mg)
}

package managed

import (
	"context"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// recall restores the last creation in the memory, or an attempt with unknown result, after the API server was
// restored to an earlier state without it. The record is older if it is of an earlier creation, or of the same
// creation before its end.
func (p *creationRecord) recall() bool {
	if p.r.named {
		p.restore()

		return p.restored
	}
	before := maps.Clone(p.mg.GetAnnotations())
	if !p.removeEarlier() && p.unended() {
		attempt.RemoveRecord(p.mg)
	}
	ref, since := p.lastCreation()
	if restoreCreation(p.mg, ref, since) {
		p.restoreOperation()

		return true
	}
	if restoreAttempt(p.mg, p.state.Called) {
		return true
	}
	p.mg.SetAnnotations(before)

	return false
}

// restore restores the record of the last creation if another writer has removed a part of it from the metadata, or
// has written an earlier record. "kubectl replace", Helm --force and Argo CD's Replace=true do that, because they
// replace the object with the manifest and keep its status. The memory of this process and the condition Created have
// the record. It is stored before any external call.
func (p *creationRecord) restore() {
	if p.r.named { // there is no record, but the resource may not be observed yet
		unheld := p.state.Creation == createdHere && p.r.finalizer == nil && !meta.WasDeleted(p.mg) &&
			!meta.FinalizerExists(p.mg, FinalizerName)
		p.restored = meta.GetExternalName(p.read) == "" && p.restoreOperation() || unheld

		return
	}
	answer := p.answered()
	p.applyAnswer(answer)
	name, unstored := meta.GetExternalName(p.mg), p.unstored()
	if answer != lifecycle.GivenUp && p.removeEarlier() {
		p.restored = true
		if !unstored {
			p.warnRecordTaken(p.earlierText(name))
		}
	}
	if read := p.intended(); read.Attempt != "" && p.unresolved() {
		p.state.Called = read // possibly by another process
	}
	ref, since := p.lastCreation()
	switch {
	case restoreCreation(p.mg, ref, since):
		p.restored = true
		p.restoreOperation()
		p.log().Info("The record of the last creation is not in the metadata, and is restored", "externalName",
			ref.Name)
	case restoreAttempt(p.mg, p.state.Called):
		p.restored = true
		p.log().Info("The record of an attempt whose result is not known is not in the metadata, and is restored")
	}
}

// restoreAttempt restores the record of an attempt with unknown result, if all of it is missing, or all but its ID.
// If only the time is missing, a user has removed the time to answer that it is safe to proceed.
func restoreAttempt(mg resource.Managed, called objectstate.Intent) bool {
	marks := mg.GetAnnotations()
	pending := marks[meta.AnnotationKeyExternalCreatePending]
	if called.Pending == "" || marks[meta.AnnotationKeyCreateAttempt] != "" ||
		pending != "" && (pending != called.Pending || called.Attempt == "") {
		return false
	}
	missing := map[string]string{meta.AnnotationKeyExternalCreatePending: called.Pending}
	if called.Attempt != "" { // other runtimes have none
		missing[meta.AnnotationKeyCreateAttempt] = called.Attempt
	}
	meta.AddAnnotations(mg, missing)

	return true
}

// unended reports whether the record shows an attempt in progress although the memory has the end of the attempt.
func (p *creationRecord) unended() bool {
	_, mark, _ := p.state.known()
	of, _, ended := strings.Cut(mark, "/")
	id, result := attempt.Of(p.mg)

	return ended && id == of && result == ""
}

// contradicted returns the creation or attempt in the memory, and reports whether the annotations of the object
// record another one.
func (p *creationRecord) contradicted() (name, mark string, other bool) {
	name, mark, _ = p.state.known()
	of, _, _ := strings.Cut(mark, "/")
	id, _ := attempt.Of(p.mg)

	return name, mark, !p.r.named && mark != "" && of != id && mark != attempt.CreationMark(p.mg)
}

// storeRestoredUnlessPaused stores the restored record in a pass without external calls, because this process may end
// before the next pass with external calls. It does not change a paused object, except for a record that no other
// process would know.
func (p *creationRecord) storeRestoredUnlessPaused(ctx context.Context) error {
	if p.r.halted(p.mg) && !p.restoredUnreported() {
		return nil
	}

	return p.storeRestored(ctx)
}

// restoredUnreported reports whether restored annotations are missing from the status, so that only this process
// knows them. The finalizer does not count, because a user may remove it from a paused object to release the object.
func (p *creationRecord) restoredUnreported() bool {
	before, now := p.newest.GetAnnotations(), p.mg.GetAnnotations()
	if !p.restored || maps.Equal(before, now) {
		return false
	}
	this := attempt.Creation(p.mg, p.mg)
	_, inStatus := p.observedInStatus(this)

	return p.unresolved() || this.Mark != "" && !inStatus ||
		before[meta.AnnotationKeyBackendIdentity] != now[meta.AnnotationKeyBackendIdentity]
}

// preparedOrStored prepares the object. If that fails, it still stores the restored record, without the changes of
// the preparation.
func (p *clientSession) preparedOrStored(ctx context.Context) error {
	if !p.restored {
		return p.prepare(ctx)
	}
	putBack := difference(p.newest.GetAnnotations(), p.mg.GetAnnotations())
	err := p.prepare(ctx)
	if err == nil {
		return nil
	}
	annotations := texts(putBack)
	for key, value := range p.newest.GetAnnotations() {
		if _, changed := putBack[key]; !changed {
			annotations[key] = value
		}
	}
	p.mg.SetAnnotations(annotations)
	if unstored := p.storeRestored(ctx); unstored != nil {
		return unstored
	}

	return err
}

// storeRestored stores the restored record.
func (p *creationRecord) storeRestored(ctx context.Context) error {
	if !p.restored {
		return nil
	}
	p.restored = false

	return updatingObject.failed(p.store(ctx, telemetry.Result))
}

// rememberOperation remembers the handle that the object has. If a replace has removed the record of the last
// creation, it has removed the handle as well: the remembered one is restored along with the record.
func (p *creationRecord) rememberOperation() {
	if handle := operationOf(p.mg); handle != "" || !p.replaced() {
		p.state.Operation = handle
	}
}

// replaced reports whether a replace has removed the record of the last creation and has written another external
// name. The record is known from the memory or the status. If the resource with the new name is being deleted,
// replaced returns false.
func (p *creationRecord) replaced() bool {
	name := meta.GetExternalName(p.mg)
	if id, _ := attempt.Of(p.mg); name == "" || id != "" || p.r.named || attempt.TimeMark(p.mg) != "" {
		return false
	}
	deleting := !p.state.DeleteSent.IsZero() && (p.mutated || p.state.LeftoverName == name)
	ref, _ := p.lastCreation()

	return !deleting && restorable(p.mg, ref) && ref.Name != name
}

// restoreReplaced restores the record of the last creation, with its external name, on an object that was replaced
// by a manifest with the name of a resource that does not exist.
func (p *publication) restoreReplaced(ctx context.Context) error {
	text := p.redact(errors.Errorf(textReplaced, meta.GetExternalName(p.mg))).Error()
	meta.RemoveAnnotations(p.mg, meta.AnnotationKeyExternalName)
	ref, since := p.lastCreation()
	restoreCreation(p.mg, ref, since)
	p.restoreOperation()
	if err := p.store(ctx, telemetry.Result); err != nil {
		return updatingObject.failed(err)
	}
	p.warnRecordTaken(text)

	return p.publishErr
}

// lastCreation returns the last successful creation that is known without the metadata, and its time.
func (p *creationRecord) lastCreation() (ref objectstate.CreationRef, since time.Time) {
	since = p.now()
	condition := p.mg.GetCondition(commonv1.TypeCreated)
	if at := condition.LastTransitionTime.Time; !at.IsZero() {
		since = at
	}
	switch {
	case p.state.Called != objectstate.Intent{}: // the condition is not about the last creation
		return objectstate.CreationRef{}, since
	case p.state.Seen != objectstate.CreationRef{}:
		return p.state.Seen, since
	case p.state.Made != objectstate.CreationRef{}:
		if at := p.r.time(p.state.Since); !at.IsZero() {
			since = at
		}

		return p.state.Made, since
	case condition.Status != metav1.ConditionTrue: // the resource was not observed
		return objectstate.CreationRef{}, since
	default:
		return objectstate.ParseCreationRef(condition.Message), since
	}
}

// restoreCreation restores the missing parts of the record of a creation, and reports whether there were any. Marks
// of another creation, of a later attempt, or another name that a user has set, stay as they are. So does a copy
// whose status was copied with it.
func restoreCreation(mg resource.Managed, ref objectstate.CreationRef, since time.Time) bool {
	if !restorable(mg, ref) || meta.ExternalCreateIncomplete(mg) && meta.GetExternalCreatePending(mg).After(since) {
		return false
	}
	id, _, byID := strings.Cut(ref.Mark, "/")
	marks := mg.GetAnnotations()
	name, recorded := marks[meta.AnnotationKeyExternalName], marks[meta.AnnotationKeyCreateAttempt]
	succeeded := marks[meta.AnnotationKeyExternalCreateSucceeded]
	other := name != "" && name != ref.Name ||
		byID && recorded != "" && recorded != ref.Mark ||
		!byID && (recorded != "" || succeeded != "" && succeeded != ref.Mark)
	if other {
		return false
	}
	missing := map[string]string{}
	if byID && recorded == "" {
		missing[meta.AnnotationKeyCreateAttempt] = ref.Mark
	}
	if succeeded == "" {
		missing[meta.AnnotationKeyExternalCreateSucceeded] = ref.Mark
		if byID {
			missing[meta.AnnotationKeyExternalCreateSucceeded] = attempt.Latest(since,
				attempt.TimeOf(id, since)).UTC().Format(time.RFC3339)
		}
	}
	if name == "" && ref.Name != "" {
		missing[meta.AnnotationKeyExternalName] = ref.Name
	}
	meta.AddAnnotations(mg, missing)

	return len(missing) > 0
}

// restorable reports whether a reference is to a successful creation for the object.
func restorable(mg resource.Managed, ref objectstate.CreationRef) bool {
	id, result, byID := strings.Cut(ref.Mark, "/")

	return ref.Mark != "" && (!byID || result == attempt.Succeeded && !attempt.Copied(mg, id))
}

// restoreOperation restores, along with the record, the handle of a pending operation: it may be the only reference
// to the resource that is being created. It reports whether there is one.
func (p *creationRecord) restoreOperation() bool {
	if p.state.Operation == "" {
		return false
	}
	setOperation(p.mg, p.state.Operation)

	return true
}

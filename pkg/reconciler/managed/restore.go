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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// restore puts back the record of the last creation where somebody has taken it, or a part of
// it, from the metadata, or has written that of an earlier one over it. "kubectl replace", Helm
// --force and Argo CD's Replace=true do that: they write the manifest in the place of the
// object, and leave its status. What the record said is known from the memory of this process,
// and from the condition Created. Before anything is asked outside it is stored.
func (p *creationRecord) restore() {
	if p.r.named { // there is no record, but what was created may not show yet
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
		p.state.Called = read // maybe by another process
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

// recall puts back what the memory knows of the last creation, or of an attempt whose result
// is not known, and an API server that was restored to an earlier state does not. What that has
// of an earlier one, or of the same one before it ended, is older.
func (p *creationRecord) recall() bool {
	if p.r.named {
		p.restore()

		return p.restored
	}
	before := maps.Clone(p.mg.GetAnnotations())
	if !p.removeEarlier() && p.unended() {
		removeRecord(p.mg)
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

// unended says whether the record is of an attempt whose end the memory knows, before it ended.
func (p *creationRecord) unended() bool {
	_, mark, _ := p.state.known()
	of, _, ended := strings.Cut(mark, "/")
	id, result := attemptOf(p.mg)

	return ended && id == of && result == ""
}

// contradicted says whether the object is marked with another creation, or attempt, than the
// memory knows of, and of which.
func (p *creationRecord) contradicted() (name, mark string, other bool) {
	name, mark, _ = p.state.known()
	of, _, _ := strings.Cut(mark, "/")
	id, _ := attemptOf(p.mg)

	return name, mark, !p.r.named && mark != "" && of != id && mark != created(p.mg)
}

// storeRestored stores what was put back.
func (p *creationRecord) storeRestored(ctx context.Context) error {
	if !p.restored {
		return nil
	}
	p.restored = false

	return updatingObject.failed(p.store(ctx, telemetry.Result))
}

// storeUnasked stores what was put back in a pass that asks nothing outside: this process may end before
// one that does. A paused object is left as it is, but for what no other process would know.
func (p *creationRecord) storeUnasked(ctx context.Context) error {
	if p.r.halted(p.mg) && !p.restoredUnreported() {
		return nil
	}

	return p.storeRestored(ctx)
}

// restoredUnreported says whether annotations were put back that the status does not tell, so that only this process
// knows them. The finalizer alone is none of them: who takes it from a paused object lets that go.
func (p *creationRecord) restoredUnreported() bool {
	before, now := p.newest.GetAnnotations(), p.mg.GetAnnotations()
	if !p.restored || maps.Equal(before, now) {
		return false
	}
	this := creation(p.mg, p.mg)
	_, told := p.observedInStatus(this)

	return p.unresolved() || this.Mark != "" && !told ||
		before[meta.AnnotationKeyBackendIdentity] != now[meta.AnnotationKeyBackendIdentity]
}

// preparedOrStored prepares the object. Where that fails, what was put back before is stored all the same,
// and nothing that preparing has changed.
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

// restoreOperation puts back, along with the record, the handle of what the external system has begun: it may
// be all that leads to what is being created. It says whether there is one.
func (p *creationRecord) restoreOperation() bool {
	if p.state.Operation == "" {
		return false
	}
	setOperation(p.mg, p.state.Operation)

	return true
}

// rememberOperation remembers the handle that the object has. Where a replace has taken the record of the last
// creation, it has taken the handle as well: the one that is remembered is put back along with the record.
func (p *creationRecord) rememberOperation() {
	if handle := operationOf(p.mg); handle != "" || !p.replaced() {
		p.state.Operation = handle
	}
}

// lastCreation returns the last creation that succeeded, as far as it is known without the
// metadata, and when.
func (p *creationRecord) lastCreation() (ref objectstate.CreationRef, since time.Time) {
	since = p.now()
	told := p.mg.GetCondition(commonv1.TypeCreated)
	if at := told.LastTransitionTime.Time; !at.IsZero() {
		since = at
	}
	switch {
	case p.state.Called != objectstate.Intent{}: // it is not the last
		return objectstate.CreationRef{}, since
	case p.state.Seen != objectstate.CreationRef{}:
		return p.state.Seen, since
	case p.state.Made != objectstate.CreationRef{}:
		if at := p.r.time(p.state.Since); !at.IsZero() {
			since = at
		}

		return p.state.Made, since
	case told.Status != metav1.ConditionTrue: // it was not found
		return objectstate.CreationRef{}, since
	default:
		return objectstate.ParseCreationRef(told.Message), since
	}
}

// restoreCreation puts back what is missing of the record of a creation, and says whether
// anything was. What tells of another creation, of an attempt since, or of another name that a
// user has chosen, stays as it is. So does a copy whose status came along with it.
func restoreCreation(mg resource.Managed, ref objectstate.CreationRef, since time.Time) bool {
	if !restorable(mg, ref) || meta.ExternalCreateIncomplete(mg) && meta.GetExternalCreatePending(mg).After(since) {
		return false
	}
	id, _, byID := strings.Cut(ref.Mark, "/")
	marks := mg.GetAnnotations()
	name, attempt := marks[meta.AnnotationKeyExternalName], marks[meta.AnnotationKeyCreateAttempt]
	succeeded := marks[meta.AnnotationKeyExternalCreateSucceeded]
	other := name != "" && name != ref.Name ||
		byID && attempt != "" && attempt != ref.Mark ||
		!byID && (attempt != "" || succeeded != "" && succeeded != ref.Mark)
	if other {
		return false
	}
	missing := map[string]string{}
	if byID && attempt == "" {
		missing[meta.AnnotationKeyCreateAttempt] = ref.Mark
	}
	if succeeded == "" {
		missing[meta.AnnotationKeyExternalCreateSucceeded] = ref.Mark
		if byID {
			missing[meta.AnnotationKeyExternalCreateSucceeded] = latest(since,
				beginning(id, since)).UTC().Format(time.RFC3339)
		}
	}
	if name == "" && ref.Name != "" {
		missing[meta.AnnotationKeyExternalName] = ref.Name
	}
	meta.AddAnnotations(mg, missing)

	return len(missing) > 0
}

// restorable says whether a reference is to a creation that succeeded, and was made for the object.
func restorable(mg resource.Managed, ref objectstate.CreationRef) bool {
	id, result, byID := strings.Cut(ref.Mark, "/")

	return ref.Mark != "" && (!byID || result == attemptSucceeded && !copied(mg, id))
}

// replaced says whether a replace has taken the record of the last creation, which is known without it, and has
// written another external name. What is being deleted by that name is what the object stands for.
func (p *creationRecord) replaced() bool {
	name := meta.GetExternalName(p.mg)
	if id, _ := attemptOf(p.mg); name == "" || id != "" || p.r.named || latestTime(p.mg) != "" {
		return false
	}
	deleting := !p.state.DeleteSent.IsZero() && (p.mutated || p.state.LeftoverName == name)
	ref, _ := p.lastCreation()

	return !deleting && restorable(p.mg, ref) && ref.Name != name
}

// restoreReplaced puts back the record of the last creation, with its external name, on an object that was
// replaced by a manifest with the name of what is not there.
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

// restoreAttempt puts back the record of an attempt whose result is not known, if nothing is
// left of it, or all but its id. That the time alone is missing is how a user says that it is
// safe to proceed.
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

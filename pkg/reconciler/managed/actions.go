package managed

import (
	"cmp"
	"context"
	"maps"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// steps maps each action to its function. A pass ends after an action that has an outcome in endings, and
// after an error. After any other action the pass gathers the facts again, unless an operation is in progress.
var steps = map[lifecycle.Action]func(*pass, context.Context) error{
	lifecycle.Observe:          (*pass).observe,
	lifecycle.ConfirmListed:    (*pass).confirmListed,
	lifecycle.PersistOwnership: (*pass).persistOwnership,
	lifecycle.Publish:          (*pass).publish,
	lifecycle.Create:           (*pass).create,
	lifecycle.Update:           (*pass).update,
	lifecycle.Delete:           (*pass).delete,

	lifecycle.AwaitList:       (*pass).awaitList,
	lifecycle.ObserveAlone:    (*pass).observeAlone,
	lifecycle.AskUser:         (*pass).askUser,
	lifecycle.RestoreRecord:   (*pass).restoreReplaced,
	lifecycle.Abandon:         (*pass).finishDeletion,
	lifecycle.RemoveFinalizer: (*pass).finishDeletion,

	lifecycle.AwaitFinalizers: (*pass).changeNothing,
	lifecycle.AwaitGone:       (*pass).changeNothing,
	lifecycle.ReportNotOwned:  (*pass).changeNothing,
	lifecycle.Keep:            (*pass).changeNothing,
	lifecycle.AwaitEffect:     (*pass).changeNothing,
	lifecycle.Tolerate:        (*pass).changeNothing,
	lifecycle.AwaitExistence:  (*pass).changeNothing,
	lifecycle.ReportMissing:   (*pass).changeNothing,
}

// changeNothing ends a pass that has nothing more to do. It returns an error if a restored annotation could not be
// stored, or if connection details could not be published.
func (p *publication) changeNothing(ctx context.Context) error {
	return cmp.Or(p.storeRestoredUnlessPaused(ctx), p.publishErr)
}

// persistOwnership makes the object the owner of an existing resource: it stores the finalizer, the external name and
// the metadata that Observe found, in one write that fails if the object has changed.
func (p *pass) persistOwnership(ctx context.Context) error {
	if !meta.WasDeleted(p.mg) {
		if err := p.addFinalizer(ctx); err != nil {
			return finalizing.failed(err)
		}
	}
	if resolves := p.settlesCreate(); resolves || p.adopts() {
		if !resolves || p.inherits() {
			meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreateAttempt: p.newAttempt()})
		}
		attempt.MarkResult(p.mg, attempt.Succeeded, p.now())
	}
	p.recordOwnerBefore()

	what := telemetry.Intent
	if len(p.lateInitPatch) > 0 {
		what = telemetry.LateInit
	}

	if err := p.store(ctx, what); err != nil {
		return updatingObject.failed(err)
	}
	p.claimed = true
	if p.seenOwned { // with the marks that it has now
		p.rememberFound()
	}

	return nil
}

// adopts reports whether this pass adopts a resource that was not created for the object. The record of an adoption
// distinguishes an adopted resource from a created one. If there is a finalizer but no record, the resource was
// created here where the provider chooses names. Elsewhere the record was lost, or another runtime never wrote one.
// The record of another object means that this object was restored.
func (p *pass) adopts() bool {
	unheld := p.r.finalizer == nil && !meta.FinalizerExists(p.mg, FinalizerName)
	id, result := attempt.Of(p.mg)
	restored := !p.r.named && attempt.Copied(p.mg, id) && result == attempt.Succeeded

	return p.observation.ResourceExists && (unheld || restored || p.namedByUser() ||
		p.observation.Owner == OwnerNone || p.takesOverRestored()) && attempt.CreationMark(p.mg) == ""
}

// create creates the external resource. It records the attempt before the call and the result after it. Nothing
// happens between the call and the second record.
func (p *pass) create(ctx context.Context) error {
	if meta.WasDeleted(p.mg) {
		if retained, err := p.retain(ctx); retained || err != nil {
			return creating.failed(err)
		}
	}
	// A pass that gets no permit ends before it has written anything.
	release, err := p.acquirePermit(ctx)
	if err != nil {
		return creating.failed(err)
	}
	defer release(context.Canceled)
	lost, again := meta.GetExternalName(p.mg), p.wasSeen() && !meta.WasDeleted(p.mg)
	unfound := p.unfound()
	if err := p.prepareCreate(ctx); err != nil {
		return err
	}
	p.recordRecreated(lost, again, unfound)
	p.createPermit, p.state.Uncalled = release, nil
	p.state.Made, p.state.Called = objectstate.CreationRef{}, p.intended()
	p.state.Seen = objectstate.CreationRef{} // whatever the call answers, it may have had its effect
	before := maps.Clone(p.mg.GetAnnotations())
	returned := &createdDetails{}
	err = p.noteInProgress(p.external.Create(context.WithValue(ContextWithCreationToken(ctx, p.token()),
		createdDetailsKey{}, returned), p.mg))
	p.mutated, p.created, p.observed = true, err == nil, false
	delivered := p.deliver(ctx, returned.take(), err)
	unwritten := p.recordResult(ctx, before, err)
	if !delivered {
		p.publishErr = p.deliverAgain(ctx)
	}

	switch {
	case external.IsAlreadyExists(err):
		p.alreadyExists = err

		return recording.failed(unwritten)
	case err != nil:
		if unwritten != nil {
			p.recordEvent(event.Warning(reasonCannotUpdateManaged, p.redact(unwritten)))
		}

		return creating.failed(err)
	}
	p.state.Seen, p.state.Since, p.state.Creation = objectstate.CreationRef{}, p.r.at(p.now()), attempt.CreationMark(p.mg)
	if !p.r.named {
		p.state.Made = attempt.Creation(p.mg, p.mg)
	}
	p.state.Changed = p.state.Since
	if p.r.named {
		p.state.Creation = createdHere
	}
	p.recordEvent(event.Normal(reasonCreated, "Successfully requested creation of external resource"))

	return recording.failed(unwritten)
}

// prepareCreate stores all that must be durable before Create is called.
func (p *pass) prepareCreate(ctx context.Context) error {
	if err := p.checkFence(ctx); err != nil {
		return creating.failed(err)
	}
	if !meta.WasDeleted(p.mg) {
		if err := p.addFinalizer(ctx); err != nil {
			return finalizing.failed(err)
		}
	}
	p.storeBackend()
	if p.warnAbandoned(); attempt.Abandoned(p.mg) {
		p.giveUp()
	}
	before := maps.Clone(p.mg.GetAnnotations())
	if err := p.markDetailsPending(ctx); err != nil {
		return publishing.failed(err)
	}
	if !p.r.named {
		p.intend()
		if err := checkRoom(p.mg.GetAnnotations()); err != nil {
			return recordingIntent.failed(err)
		}
	}

	if err := p.store(ctx, telemetry.Intent); err != nil {
		if isNotStored(err) {
			p.withdraw(ctx, before)
		}

		return recordingIntent.failed(err)
	}

	return recordingIntent.failed(p.checkLive(ctx))
}

// checkLive checks that the read of the object was not stale, once per object in the life of the process. It is
// needed if no write precedes a create, because only a write fails after a stale read.
func (p *object) checkLive(ctx context.Context) error {
	if p.state.Live {
		return nil
	}
	live, err := p.readLive(ctx)
	switch {
	case err != nil:
		return err
	case live.GetResourceVersion() != p.mg.GetResourceVersion():
		return kerrors.NewConflict(schema.GroupResource{Group: p.r.of.Group, Resource: p.r.of.Kind}, p.mg.GetName(),
			errors.New("the cache lags behind"))
	}
	p.state.Live = true

	return nil
}

func (p *pass) update(ctx context.Context) error {
	err := p.noteInProgress(p.external.Update(ctx, p.mg))
	if err != nil && !external.IsNotFound(err) { // what went meanwhile is looked at again
		return updating.failed(err)
	}
	p.mutated, p.observed = true, false
	p.state.Since = p.r.at(p.now()) // an update may replace what it changes
	if p.state.Unchanged == 0 {
		p.state.Changed = p.state.Since
		p.recordEvent(event.Normal(reasonUpdated, textUpdated+p.differences.updated()))
	}

	return recording.failed(p.keepOperation(ctx))
}

func (p *pass) delete(ctx context.Context) error {
	if retained, err := p.prepareDelete(ctx); retained || err != nil {
		return err
	}
	err := p.noteInProgress(p.external.Delete(ctx, p.mg))
	if err != nil && !external.IsNotFound(err) {
		return deleting.failed(err)
	}
	if p.state.DeleteSent.IsZero() {
		p.state.Changed = p.r.at(p.now())
		p.recordEvent(event.Normal(reasonDeleted, "Successfully requested deletion of external resource"))
	}
	p.mutated, p.observed = true, false
	p.state.DeleteSent = p.now()

	return recording.failed(p.keepOperation(ctx))
}

// prepareDelete checks all that Delete needs. It returns true if a guard retains the external resource.
func (p *clientSession) prepareDelete(ctx context.Context) (retained bool, err error) {
	if retained, err := p.retain(ctx); retained || err != nil {
		return retained, deleting.failed(err)
	}
	if !p.observation.ResourceExists {
		// A resource that was not observed has no stamp that was read: it may be that of another object of this name.
		if _, err := p.readLive(ctx); err != nil {
			return false, deleting.failed(err)
		}
	}

	return false, nil
}

// removeFinalizer removes the finalizer. It returns no error if the object is gone.
func (p *creationRecord) removeFinalizer(ctx context.Context) error {
	if may := p.may(); may.Delete { // an orphan is left behind in any case
		p.warnAbandoned()
	}
	if p.r.finalizer != nil {
		err := p.guarded("remove finalizer", func() error { return p.r.finalizer.RemoveFinalizer(ctx, p.mg) })
		err = gone.IgnoreConfirmed(ctx, p.r.cluster.GetAPIReader(), p.mg, err)
		p.state.FinalizerRemoved = err == nil
		p.released = err == nil

		return removingFinalizer.failed(err)
	}
	err := p.storeWithoutFinalizer(ctx)
	replaced := errors.Is(err, errReplaced)
	p.released = err == nil
	p.state.Gone = replaced || err == nil && len(p.mg.GetFinalizers()) == 0
	if replaced {
		return nil
	}

	return removingFinalizer.failed(err)
}

// askUser prepares the question of the condition, which asks the user to remove the record of a creation. A replace of
// the object removes the record, too. So the object gets a note, which the condition does not ask to remove, and the
// condition Created names the creation: if only the record is gone, that is an answer.
//
// An object with the record of another runtime gets a note only if predecessors are configured. It is not asked about
// what a predecessor has created since: the answer to that is in their annotations, or in the external name.
func (p *pass) askUser(ctx context.Context) error {
	mark := p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	noted := (mark != "" || len(p.r.predecessors) > 0) && p.lastFacts.Attempt != lifecycle.Superseded
	if err := p.storeQuestion(ctx, noted); err != nil || !noted {
		return cmp.Or(err, p.publishErr)
	}
	if found, _ := p.observedInStatus(attempt.Creation(p.mg, p.mg)); found ||
		mark == "" { // under another name: that one was claimed, and no other
		return p.publishErr
	}
	text := objectstate.CreationRef{Mark: mark, Name: meta.GetExternalName(p.mg)}.String()
	p.setCondition(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown,
		Reason: commonv1.ReasonUnresolved, Message: text,
	})

	return p.publishErr
}

// storeQuestion stores the note of the question, if noted is true. It also stores the finalizer, if the object does
// not have it. Until the user answers, an external resource may exist that has to be deleted with the object. Without
// a finalizer, the reconciler would also mistake an answer about a creation of another runtime for a replace. An
// object without a note gets only the finalizer, because its external name is not decided.
func (p *pass) storeQuestion(ctx context.Context, noted bool) error {
	if p.lastFacts.Object == lifecycle.NoFinalizer {
		if err := p.addFinalizer(ctx); err != nil {
			return finalizing.failed(err)
		}
	}
	desired, changed := clone(p.mg), noted && p.recordQuestion()
	switch {
	case changed || noted && p.lastFacts.Object == lifecycle.NoFinalizer:
		return updatingObject.failed(p.store(ctx, telemetry.Result))
	case !noted && p.lastFacts.Object == lifecycle.NoFinalizer && p.ensureFinalizer(desired):
		return updatingObject.failed(p.replaceFinalizers(ctx, desired))
	default:
		return nil
	}
}

// addFinalizer adds the finalizer of the author, or prepares ours to be stored.
func (p *object) addFinalizer(ctx context.Context) error {
	if p.r.finalizer == nil || p.finalizerAdded {
		return nil
	}
	answer := clone(p.mg)
	if err := p.guarded("add finalizer", func() error { return p.r.finalizer.AddFinalizer(ctx, answer) }); err != nil {
		return err
	}
	p.finalizerAdded = true
	if answer.GetResourceVersion() == p.mg.GetResourceVersion() &&
		slices.Equal(answer.GetFinalizers(), p.mg.GetFinalizers()) {
		return nil
	}
	// The status of the answer is this pass's own, not what is stored.
	newest := clone(p.newest)
	newest.SetResourceVersion(answer.GetResourceVersion())
	newest.SetFinalizers(slices.Clone(answer.GetFinalizers()))
	p.newest = newest
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.mg.SetFinalizers(answer.GetFinalizers())
	p.state.Version = answer.GetResourceVersion()

	return nil
}

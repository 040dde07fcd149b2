package managed

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pass is one reconcile of one object. It consists of layers, each of which embeds the layer below it. The methods
// of a layer can use the layers below, but not the layers above. The layers, from the lowest, are: journal, object,
// creationRecord, clientSession, recovery, schedule, publication.
type pass struct {
	publication

	lastFacts    lifecycle.Facts      // what the last decision was made from
	lastAdmitted lifecycle.AdmitFacts // what the last admission was made from
}

// newPass returns a pass over an object as it was read. It restores annotations that a replace has removed.
func (r *Reconciler) newPass(read resource.Managed, known *objectState) *pass {
	p := &pass{}
	p.object = r.objectOf(read, r.ownCopy(read), known)
	p.policy = r.checkPolicies(p.mg)
	p.noteRequest()
	p.restore()
	p.restored = p.takeOverMarks() || p.restored
	retires := p.retires()
	p.restored = p.restoreIdentity() || p.restored || p.finalizerRemovedByOthers() || retires
	s := p.priorityFacts()
	p.priority, p.nextPriority, p.state.Known = s.Priority(), s.Priority(), true
	p.healthy, p.deferred = s.Healthy, r.spread && s.Deferrable()
	if p.applyNotification(); p.priority != lifecycle.Poll || p.deferred && p.recordMissing() {
		p.deferred = false
	}

	return p
}

// ownCopy returns a copy of an object that a pass may change. With deterministic names the copy has an external name.
func (r *Reconciler) ownCopy(read resource.Managed) resource.Managed {
	mg := clone(read)
	r.name(mg)

	return mg
}

func clone(mg resource.Managed) resource.Managed {
	// a deep copy has the type of its original
	return mg.DeepCopyObject().(resource.Managed)
}

// maxActions is the maximum number of actions in a pass. The tests of package lifecycle prove it.
const maxActions = 7

// run gathers the facts, decides and acts until an action ends the pass.
func (p *pass) run(ctx context.Context) (outcome, error) {
	for range maxActions {
		if p.observed {
			p.trackDoubts()
		}
		p.lastFacts, p.lastAdmitted = p.facts()
		logDecision(p)
		if admission := lifecycle.Admit(p.lastAdmitted); admission != lifecycle.Reconcile {
			return p.endUnadmitted(ctx, admission)
		}
		action := lifecycle.Decide(p.lastFacts)
		err := p.step(action)(p, ctx)
		switch ending, ends := endings[action]; {
		case ends || err != nil:
			return ending, err
		case p.operation != nil:
			return p.inProgress(), nil
		}
	}

	return outcome{}, errors.New("the pass did not end: this is a defect of the reconciler")
}

// log returns the logger of the pass. Most passes log nothing, and need none.
func (p *journal) log() logging.Logger {
	if p.logger == nil {
		key := client.ObjectKeyFromObject(p.read)
		p.logger = p.r.log.WithValues("object", key.String(), "uid", p.read.GetUID(), "version",
			p.read.GetResourceVersion())
	}

	return p.logger
}

// endUnadmitted ends a pass over an object that Admit has not admitted to reconciliation.
func (p *pass) endUnadmitted(ctx context.Context, a lifecycle.Admission) (outcome, error) {
	ending := unadmitted[a]
	switch a {
	case lifecycle.Ignore:
		return p.ignore(ctx)
	case lifecycle.Orphan:
		return ending, p.finishDeletion(ctx)
	default:
		return ending, p.changeNothing(ctx)
	}
}

// inProgress returns the outcome of a pass that leaves an operation in progress in the external system.
func (p *clientSession) inProgress() outcome {
	const text = "waiting for an operation of the external system to end"
	o := outcomes[operating]
	o.synced, o.after = commonv1.ReconcileSuccess().WithMessage(text), p.operation.After
	switch {
	case meta.WasDeleted(p.mg):
		o.ready = commonv1.Deleting()
	case !isReady(p.read):
		o.ready, o.synced = commonv1.Creating(), creationPending(text)
	}

	return o
}

func isReady(mg resource.Managed) bool {
	return mg.GetCondition(commonv1.TypeReady).Status == "True"
}

// close sends the entries of the change log, disconnects, and updates the memory of the object. It reports a failure
// to disconnect and ignores it otherwise.
func (p *pass) close(ctx context.Context) {
	p.logChanges(ctx)
	p.state.LastDisconnectErr = p.disconnect(ctx)
	p.recordLeftover()
	p.rememberOperation()
	p.state.release(p.r.objects.unused)
}

// disconnect disconnects the client and the connecter. It returns the last error.
func (p *pass) disconnect(ctx context.Context) (failed string) {
	if len(p.disconnects) == 0 {
		return ""
	}
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	for _, d := range p.disconnects {
		if err := p.redact(p.instrument(ctx, telemetry.Disconnect, d.Disconnect)); err != nil {
			failed = err.Error()
			if p.state.LastDisconnectErr != failed {
				p.emitEvent(event.Warning(reasonCannotDisconnect, err))
			}
		}
	}

	return failed
}

// recordLeftover records what would stay in the external system if the object were removed before a pass has removed
// its finalizer.
func (p *pass) recordLeftover() {
	p.lastAdmitted.MayDelete = p.r.permissions(p.mg).Delete && !p.retained
	made := p.mutated && (p.created || p.state.Called != objectstate.Intent{}) // after the last facts
	leftover := lifecycle.LeftoverOf(p.lastAdmitted, p.lastFacts)
	switch {
	case p.released || leftover == lifecycle.NoneRemains && !(made && p.lastAdmitted.MayDelete):
		p.state.NoLeftover = true
	case leftover == lifecycle.MayRemain || made:
		p.state.NoLeftover = false
	}
	held := !p.released && p.hasFinalizer()
	p.state.HadFinalizer = p.state.HadFinalizer || held
	neverObserved := leftover == lifecycle.Unchanged && !p.deferred && p.state.Seen == objectstate.CreationRef{}
	switch {
	case !p.state.HadFinalizer || p.released || !meta.WasDeleted(p.mg) && !p.createdUnobserved() && !neverObserved:
		p.state.LeftoverName = ""
	case p.state.LeftoverName == "" || p.mutated || p.state.DeleteSent.IsZero():
		// Once a Delete was sent, the name in it stays.
		p.state.LeftoverName = meta.GetExternalName(p.mg)
	}
}

func (p *journal) now() time.Time { return p.r.clock.Now() }

package managed

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// silentConflicts is the number of consecutive conflicts that are not reported. After more conflicts, another writer
// keeps changing the object, or the conflicts do not come from the API server.
const silentConflicts = 5

// An end is how a pass ended. It has the outcome or the error, and the result of the status write.
type end struct {
	outcome   outcome
	err       error
	status    lifecycle.StatusWrite
	statusErr error
	undone    bool // what was created for an object that is gone
}

// conclude ends the pass, and returns the result for the queue.
func (p *pass) conclude(ctx context.Context, o outcome, err error) (reconcile.Result, error) {
	e := end{outcome: o, err: err}
	for {
		f := p.concludeFacts(ctx, e)
		logConclusion(p, f)
		switch c := lifecycle.Conclude(f); c {
		case lifecycle.UndoCreate:
			p.undoCreate(ctx)
			e.undone = true
		case lifecycle.WriteStatus:
			p.writeOutcome(ctx, &e)
		default:
			next := p.report(c, e)
			p.r.inspected.note(p)
			next.priority = p.queuePriority()

			return next.answer()
		}
	}
}

// concludeFacts returns the facts about the end of the pass as plain values.
func (p *pass) concludeFacts(ctx context.Context, e end) lifecycle.ConcludeFacts {
	f := lifecycle.ConcludeFacts{
		Stop:             stopOf(e.err, p.state.Conflicts >= silentConflicts),
		Released:         e.outcome.requeue == never,
		ConflictsPersist: p.state.Conflicts >= silentConflicts,
		Interrupted:      e.err != nil && errors.Is(ctx.Err(), context.Canceled),
		StatusWrite:      e.status,
	}
	if f.Stop == lifecycle.NotStopped && e.outcome.silent {
		f.Stop = lifecycle.Later
	}
	if f.Stop == lifecycle.ObjectGone || f.StatusWrite == lifecycle.StatusObjectGone {
		f.Undoable = !e.undone && p.undoable()
	}

	return f
}

// writeOutcome puts the outcome into the conditions, and writes the status.
func (p *pass) writeOutcome(ctx context.Context, e *end) {
	if e.err != nil {
		e.outcome = p.failureOutcome(e.err)
	}
	e.outcome = p.completeStatus(e.outcome)
	e.statusErr = p.writeStatus(ctx)
	e.status = statusWriteOf(e.statusErr)
}

// completeStatus puts the outcome into the conditions, and records its event if it is new.
func (p *pass) completeStatus(o outcome) outcome {
	if o.refine != nil {
		o = o.refine(p, o)
	}
	if p.publishErr != nil && !isReady(p.read) { // users cannot connect
		o.ready = commonv1.Creating().WithMessage("the connection details are not published yet")
	}
	if !o.requeue.backsOff() {
		p.state.Backoffs = 0
	}
	if o.requeue == poll { // nothing is waited for
		p.state.Changed = 0
	}
	if this := attempt.Creation(p.mg, p.mg); p.seenOwned && this.Mark != "" {
		text := p.mg.GetCondition(commonv1.TypeCreated).Message
		if !this.Is(text) {
			text = this.String()
		}
		p.setCondition(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionTrue,
			Reason: commonv1.ReasonObserved, Message: text,
		})
	}
	left := p.warnSuperseded()
	p.setCondition(o.ready)
	p.setCondition(o.synced)
	p.setUpToDate(o)
	p.setDrift(o)
	p.setProgress(o)
	p.stabilizeMessages()
	if (p.observedOnce || o.progress == stuck) && !o.unfinished {
		p.handled()
	}
	if o.event.Reason != "" && p.isNewEvent(o) {
		p.recordEvent(o.event)
	}
	if o.event.Type != event.TypeWarning {
		p.forgetWarnings(string(o.event.Reason), left)
	}
	p.checkPollInterval()

	return o
}

// warnSuperseded warns of a resource that a predecessor has created while the external resource of the object exists.
// The reconciler neither creates another resource nor looks for that one. If the warning stays true, warnSuperseded
// returns its reason, and otherwise "".
func (p *pass) warnSuperseded() (reason string) {
	if p.lastFacts.Attempt != lifecycle.Superseded || p.lastFacts.Presence != lifecycle.Present {
		return ""
	}
	err := p.supersededText(textSupersededLeft, p.superseded())
	if p.isNewMessage(string(reasonLeft), err.Error()) {
		p.recordEvent(event.Warning(reasonLeft, err))
	}

	return string(reasonLeft)
}

// setUpToDate sets the condition UpToDate: once the external resource was not as desired, or always if the kind is
// meant for tools. It is unknown while there is no observation, or the resource is not ours.
func (p *pass) setUpToDate(o outcome) {
	_, always := p.mg.(resource.GenerationObserver)
	said := p.mg.GetCondition(commonv1.TypeUpToDate).Reason != ""
	switch {
	case o.upToDate.Type != "":
		if always || said || o.upToDate.Status == metav1.ConditionFalse {
			p.setCondition(p.differences.named(o.upToDate))
		}
	case said && o.synced.Type != "" && (o.progress == stuck || o.progress == halting ||
		p.observed && !p.observation.ResourceExists):
		p.setCondition(upToDate(metav1.ConditionUnknown, o.synced.Reason))
	}
}

// handled records in the status which generation and which request for a reconcile this pass has handled.
func (p *object) handled() {
	if g, ok := p.mg.(resource.GenerationObserver); ok {
		g.SetObservedGeneration(p.generation)
	}
	if p.requested == "" {
		return
	}
	if r, ok := p.mg.(resource.ReconcileRequestee); ok {
		r.SetLastHandledReconcileAt(p.requested)
	}
	p.recordEvent(requestHandled(p.requested))
}

// report emits the events of the pass, updates the memory of the object, and returns when the object is reconciled
// again.
func (p *pass) report(c lifecycle.Conclusion, e end) next {
	p.settleRequest(c == lifecycle.Report && e.statusErr == nil)
	switch c {
	case lifecycle.Requeue:
		return p.requeueLater(e.outcome)
	case lifecycle.Finish:
		return p.finishSilently(e)
	case lifecycle.RequeueConflict:
		return p.requeueConflict(e.outcome)
	case lifecycle.Fence:
		return p.fencedResult(e)
	case lifecycle.AwaitChange:
		return next{after: p.recheckTerminal()}
	case lifecycle.Interrupt:
		return p.interruptedResult(e)
	default:
		return p.reportOutcome(e)
	}
}

// requeueLater ends a pass that has tried nothing. It reports nothing.
func (p *pass) requeueLater(o outcome) next {
	if o.refine != nil {
		o = o.refine(p, o)
	}
	p.outcomeLabel, p.nextPriority = o.name, lifecycle.Poll

	return next{after: o.after}
}

// finishSilently ends a pass that has no status to write, because the object is gone or its finalizer was removed.
func (p *pass) finishSilently(e end) next {
	gone := e.status == lifecycle.NotWritten && e.err != nil
	if gone {
		p.log().Info("Object is gone", "error", p.redact(e.err))
	}
	if e.outcome.event.Reason != "" {
		p.recordEvent(e.outcome.event)
	}
	p.emitEvents()
	p.outcomeLabel = e.outcome.name
	if !gone && e.outcome.requeue == never {
		p.recordDeleted()
	}

	return next{}
}

// requeueConflict requeues the object with the backoff of the queue after a stale read. It reports nothing.
func (p *pass) requeueConflict(o outcome) next {
	p.state.Conflicts++
	p.emitEvents()
	p.outcomeLabel = outcomes[conflicted].name
	p.log().Debug("Object has changed, trying again", "outcome", o.name)

	return next{backoff: true}
}

// fencedResult ends a pass in which this process must not act or report. Another process does so.
func (p *journal) fencedResult(e end) next {
	if e.status != lifecycle.NotWritten {
		p.emitEvents()
	}
	p.outcomeLabel = outcomes[fenced].name
	err := e.err
	if err == nil {
		err = e.statusErr
	}

	return next{err: p.redact(err)}
}

// recheckTerminal ends a pass that called nothing, because nothing has changed since the terminal error.
func (p *schedule) recheckTerminal() time.Duration {
	p.outcomeLabel, p.nextPriority = outcomes[awaitingCause].name, lifecycle.Poll
	next := max(min(p.jitter(p.interval()), p.state.Stop.Until.Sub(p.now())), time.Millisecond)
	p.state.Stop.Due = p.now().Add(next)

	return next
}

// interruptedResult ends an unfinished pass, because the process is asked to stop.
func (p *journal) interruptedResult(e end) next {
	p.emitEvents()
	p.outcomeLabel = outcomes[interrupted].name

	return next{err: p.redact(e.err)}
}

// reportOutcome ends a pass after an attempt to write its status.
func (p *pass) reportOutcome(e end) next {
	terminal := isTerminal(e.err)
	p.state.Conflicts = 0
	p.state.Reworded = p.rewordings(e.statusErr)
	p.warnUnwritableStatus(e.statusErr)
	p.outcomeLabel = e.outcome.name
	p.recordUserIntent(e.outcome, e.err != nil || e.statusErr != nil, e.err != nil && !terminal || e.statusErr != nil)
	if e.statusErr == nil {
		p.r.telemetry.Seen(&p.state.counted, p.mg)
	}
	answerRequest(p, e, next{}) // a poll interval hook that panics emits the events
	n := p.nextAfter(e)
	answerRequest(p, e, n)
	p.emitEvents()

	return n
}

// nextAfter returns when the queue hands out the object again, and with which priority.
func (p *pass) nextAfter(e end) next {
	terminal := isTerminal(e.err)
	switch o := e.outcome; {
	case e.statusErr != nil:
		return next{err: p.redact(errors.Wrap(e.statusErr, "cannot update managed resource status"))}
	case o.after > 0:
		return next{after: o.after}
	case !terminal && e.err != nil:
		return next{err: p.redact(e.err)}
	case terminal && o.progress == stuck:
		p.r.telemetry.Terminal(string(o.synced.Reason))

		return next{after: p.waitForChange(o)}
	default:
		return next{after: p.delay(o.requeue)}
	}
}

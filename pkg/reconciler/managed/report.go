package managed

import (
	"context"
	"maps"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// After so many conflicts in a row somebody keeps changing the object, or what
// says "conflict" is not the API server: then it is told.
const silentConflicts = 5

// report tells how a pass ended. It is the only place that writes the status at
// the end of a pass, emits events and answers the queue.
func (p *pass) report(ctx context.Context, o outcome, err error) (reconcile.Result, error) {
	terminal := isTerminal(err)
	if off := asRequeue(err); off != nil {
		p.outcomeLabel, p.nextPriority = off.name, lifecycle.Poll

		return reconcile.Result{RequeueAfter: off.after}, nil
	}
	switch {
	case errors.Is(err, errReplaced) || err == nil && o.requeue == never:
		p.undoCreate(ctx, err)
		p.finishSilently(o, err)

		return reconcile.Result{}, nil
	case conflicts(err) && !terminal && p.state.Conflicts < silentConflicts:
		return p.requeueConflict(o), nil
	case errors.Is(err, errFenced) && !isPanic(err):
		// Whoever may not act outside leaves the object to who may, too.
		p.outcomeLabel = "fenced"

		return reconcile.Result{}, p.redact(err)
	case errors.Is(err, errCauseUnchanged):
		return reconcile.Result{RequeueAfter: p.recheckTerminal()}, nil
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		// The process is asked to stop, and its connections are closed. What it
		// did not finish is no failure of the object.
		p.emitEvents()
		p.outcomeLabel = "interrupted"

		return reconcile.Result{}, p.redact(err)
	}
	if err != nil {
		o = p.failureOutcome(err)
	}
	o = p.completeStatus(o)
	werr := p.writeStatus(ctx)
	switch {
	case conflicts(werr) && p.state.Conflicts < silentConflicts:
		return p.requeueConflict(o), nil
	case errors.Is(werr, errReplaced):
		p.undoCreate(ctx, werr)
		p.finishSilently(o, nil)

		return reconcile.Result{}, nil
	case errors.Is(werr, errFenced):
		return reconcile.Result{}, p.fencedResult(err, werr)
	}
	p.state.Conflicts = 0
	p.state.Reworded = p.rewordings(werr)
	p.warnUnwritableStatus(werr)
	p.emitEvents()
	p.outcomeLabel = o.name
	p.recordIntent(o, err != nil || werr != nil, err != nil && !terminal || werr != nil)
	if werr == nil {
		p.r.telemetry.Seen(&p.state.counted, p.mg)
	}

	return p.answer(o, err, werr)
}

// fencedResult ends a pass that may not tell how it ended: with its own error, or else with why.
func (p *pass) fencedResult(err, why error) error {
	p.emitEvents()
	p.outcomeLabel = "fenced"
	if err == nil {
		err = why
	}

	return p.redact(err)
}

// conflicts says whether an error is a conflict. Of no error it costs nothing to find
// out.
func conflicts(err error) bool { return err != nil && kerrors.IsConflict(err) }

// answer returns what the queue is to do with the object.
func (p *pass) answer(o outcome, err, werr error) (reconcile.Result, error) {
	terminal := isTerminal(err)
	switch {
	case werr != nil:
		return reconcile.Result{}, p.redact(errors.Wrap(werr, "cannot update managed resource status"))
	case o.after > 0:
		return reconcile.Result{RequeueAfter: o.after}, nil
	case !terminal && err != nil:
		return reconcile.Result{}, p.redact(err)
	case terminal && o.progress == stuck:
		p.r.telemetry.Terminal(string(o.synced.Reason))

		return reconcile.Result{RequeueAfter: p.waitForChange(o)}, nil
	default:
		return reconcile.Result{RequeueAfter: p.delay(o.requeue)}, nil
	}
}

// completeStatus puts the outcome into the conditions, and tells it if it is news.
func (p *pass) completeStatus(o outcome) outcome {
	if o.refine != nil {
		o = o.refine(p, o)
	}
	if p.publishErr != nil && !isReady(p.read) { // nobody could connect
		o.ready = commonv1.Creating().WithMessage("the connection details are not published yet")
	}
	if o.requeue != backoff && o.requeue != untilGrace && o.requeue != adaptive {
		p.state.Backoffs = 0
	}
	if o.requeue == poll { // nothing is waited for
		p.state.Changed = 0
	}
	if this := creation(p.mg, p.mg); p.seenOwned && this.Mark != "" {
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

// setUpToDate says whether the external resource is as desired, from when it first
// was not, or always if the kind is meant for tools. Nobody knows while nothing
// is looked at, or what is found is not ours.
func (p *pass) setUpToDate(o outcome) {
	_, always := p.mg.(resource.GenerationObserver)
	said := p.mg.GetCondition(commonv1.TypeUpToDate).Reason != ""
	switch {
	case o.upToDate.Type != "":
		if always || said || o.upToDate.Status == metav1.ConditionFalse {
			p.setCondition(o.upToDate)
		}
	case said && o.synced.Type != "" && (o.progress == stuck || o.progress == halting ||
		p.observed && !p.observation.ResourceExists):
		p.setCondition(upToDate(metav1.ConditionUnknown, o.synced.Reason))
	}
}

// handled puts into the status which generation and which request of the user's
// this pass worked on.
func (p *object) handled() {
	if g, ok := p.mg.(resource.GenerationObserver); ok {
		g.SetObservedGeneration(p.generation)
	}
	if r, ok := p.mg.(resource.ReconcileRequestee); ok && p.requested != "" {
		r.SetLastHandledReconcileAt(p.requested)
		p.recordEvent(event.Normal(reasonRequestHandled, "Handled the request for a reconcile"))
	}
}

// isNewEvent says whether the object did not say so before, of whichever generation.
func (p *journal) isNewEvent(o outcome) bool {
	for _, t := range newsTypes {
		says := p.mg.GetCondition(t)
		says.ObservedGeneration = 0 // which is equal to any
		if !p.read.GetCondition(t).Equal(says) {
			return p.isNewMessage(string(o.event.Reason), o.event.Message)
		}
	}

	return false
}

// isNewMessage says whether a message is not the last that was told for the reason.
func (p *journal) isNewMessage(reason, message string) bool {
	last, told := p.state.LastWarnings[reason]
	if told && (last == message || external.Normalize(last) == external.Normalize(message)) {
		return false
	}
	if p.state.LastWarnings == nil {
		p.state.LastWarnings = map[string]string{}
	}
	p.state.LastWarnings[reason] = message

	return true
}

// forgetWarnings forgets what was told, so that it is news once more. What is told for these reasons is not news
// as long as it goes on, also where no status is stored.
func (p *journal) forgetWarnings(but ...string) {
	maps.DeleteFunc(p.state.LastWarnings, func(reason, _ string) bool { return !slices.Contains(but, reason) })
	if len(p.state.LastWarnings) == 0 {
		p.state.LastWarnings = nil
	}
}

// recordEvent an event when the pass is over.
func (p *journal) recordEvent(e event.Event) { p.events = append(p.events, e) }

// emitEvent an event at once. It is for what goes wrong after the end.
func (p *journal) emitEvent(e event.Event) {
	p.recordEvent(e)
	p.emitEvents()
}

func (p *journal) emitEvents() {
	if len(p.events) == 0 {
		return
	}
	record, warn := p.r.recorder, p.r.warningRecorder
	if warn == nil {
		warn = record
	}
	name := meta.GetExternalName(p.mg)
	for _, e := range p.events {
		to := record
		if e.Type == event.TypeWarning {
			to = warn
		}
		if name != "" {
			to = to.WithAnnotations("external-name", name)
		}
		to.Event(p.mg, e)
		p.log().Info("Event", "type", string(e.Type), "reason", string(e.Reason), "message", e.Message)
	}
	p.events = nil
}

// finishSilently ends a pass after which there is nothing to write: the object was let
// go, or is gone.
func (p *pass) finishSilently(o outcome, err error) {
	if err != nil {
		p.log().Info("Object is gone", "error", p.redact(err))
	}
	if o.event.Reason != "" {
		p.recordEvent(o.event)
	}
	p.emitEvents()
	p.outcomeLabel = o.name
	if err == nil && o.requeue == never {
		p.recordDeleted()
	}
}

// requeueConflict asks for another pass, with the queue's back-off and in silence:
// what was read was stale.
func (p *pass) requeueConflict(o outcome) reconcile.Result {
	p.state.Conflicts++
	p.emitEvents()
	p.outcomeLabel = "conflict"
	p.log().Debug("Object has changed, trying again", "outcome", o.name)

	//nolint:staticcheck // the only silent, rate-limited way: RequeueAfter would reset the back-off
	return reconcile.Result{Requeue: true}
}

// failureOutcome returns the outcome of a pass that ended in an error.
func (p *pass) failureOutcome(err error) outcome {
	s := unexpected
	var f *failure
	if errors.As(err, &f) {
		s = f.stage
	}
	if external.IsUnauthorized(err) && p.connection.Recheck != nil && !gates.IsHeld(err) {
		p.connection.Recheck()
	}
	c := classify(err)
	p.r.telemetry.Failed(c.name)
	if c.shared && p.gate != nil {
		return p.throttled(err)
	}
	ready := s.ready
	if s.name == recording.name && meta.WasDeleted(p.mg) { // of an earlier pass
		ready = commonv1.Deleting()
	}
	err = p.redact(err)
	o := outcome{
		name: s.name, ready: ready, synced: commonv1.ReconcileError(err), event: event.Warning(s.reason, err),
		requeue: resync, progress: moving,
	}
	if c.reason != "" {
		o.synced.Reason = c.reason
	}
	if s == updating {
		o.upToDate = upToDate("False", commonv1.ReasonUpdateFailed)
	}
	if reason, terminal := external.TerminalReason(err); terminal {
		o.synced.Reason, o.progress = p.withoutSecrets(reason), stuck
	} else if isNotStored(err) {
		o.requeue, o.after, o.progress = backoff, p.backoffDelay(longestUnstored), stuck
	} else {
		o.after = retryAfter(err, p.r.random())
	}
	if o.synced.Reason == commonv1.ReasonReferenceNotReady {
		o.progress = moving
		if !p.r.watching.Load() {
			o.requeue = backoff
		}
	}

	return p.reworded(o)
}

// withoutSecrets returns the reason of a terminal error, if it can be shown to anybody.
func (p *journal) withoutSecrets(reason string) commonv1.ConditionReason {
	if p.mask().String(reason) != reason {
		return external.ReasonTerminalError
	}

	return commonv1.ConditionReason(reason)
}

// warnSuperseded tells of what a predecessor has created while the external resource of the object is there: nothing is
// created beside it, and nobody looks for it. It returns the reason for which that goes on to be told, or nothing.
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

package managed

import (
	"context"
	"maps"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/freshness"
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
	if off := asPutOff(err); off != nil {
		p.ended, p.next = off.name, lifecycle.Poll

		return reconcile.Result{RequeueAfter: off.after}, nil
	}
	switch {
	case errors.Is(err, errReplaced) || err == nil && o.again == never:
		p.takeBack(ctx, err)
		p.leave(o, err)

		return reconcile.Result{}, nil
	case conflicts(err) && !terminal && p.memo.Conflicts < silentConflicts:
		return p.conflicted(o), nil
	case errors.Is(err, errNotBegun) && !isPanic(err):
		// Whoever may not act outside leaves the object to who may, too.
		p.ended = "fenced"

		return reconcile.Result{}, p.redact(err)
	case errors.Is(err, errUnchanged):
		return reconcile.Result{RequeueAfter: p.stillStopped()}, nil
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		// The process is asked to stop, and its connections are closed. What it
		// did not finish is no failure of the object.
		p.announce()
		p.ended = "interrupted"

		return reconcile.Result{}, p.redact(err)
	}
	if err != nil {
		o = p.failed(err)
	}
	o = p.conclude(o)
	werr := p.writeStatus(ctx)
	switch {
	case conflicts(werr) && p.memo.Conflicts < silentConflicts:
		return p.conflicted(o), nil
	case errors.Is(werr, errReplaced):
		p.takeBack(ctx, werr)
		p.leave(o, nil)

		return reconcile.Result{}, nil
	case errors.Is(werr, errNotBegun):
		return reconcile.Result{}, p.fencedFrom(err, werr)
	}
	p.memo.Conflicts = 0
	p.memo.Reworded = p.rewordings(werr)
	p.tellUnwritable(werr)
	p.announce()
	p.ended = o.name
	p.tried(o, err != nil || werr != nil, err != nil && !terminal || werr != nil)
	if werr == nil {
		p.r.telemetry.Seen(&p.memo.counted, p.mg)
	}

	return p.answer(o, err, werr)
}

// fencedFrom ends a pass that may not tell how it ended: with its own error, or else with why.
func (p *pass) fencedFrom(err, why error) error {
	p.announce()
	p.ended = "fenced"
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

		return reconcile.Result{RequeueAfter: p.awaitCause(o)}, nil
	default:
		return reconcile.Result{RequeueAfter: p.delay(o.again)}, nil
	}
}

// conclude puts the outcome into the conditions, and tells it if it is news.
func (p *pass) conclude(o outcome) outcome {
	if o.refine != nil {
		o = o.refine(p, o)
	}
	if p.unpublishable != nil && !isReady(p.read) { // nobody could connect
		o.ready = commonv1.Creating().WithMessage("the connection details are not published yet")
	}
	if o.again != growing && o.again != afterGrace && o.again != soon {
		p.memo.Backoffs = 0
	}
	if o.again == poll { // nothing is waited for
		p.memo.Changed = 0
	}
	if this := creation(p.mg, p.mg); p.found && this.Mark != "" {
		text := p.mg.GetCondition(commonv1.TypeCreated).Message
		if !this.Is(text) {
			text = this.String()
		}
		p.set(commonv1.Condition{Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved, Message: text})
	}
	left := p.tellSuperseded()
	p.set(o.ready)
	p.set(o.synced)
	p.setUpToDate(o)
	p.show(o)
	p.steady()
	if (p.looked || o.progress == stuck) && !o.unfinished {
		p.handled()
	}
	if o.event.Reason != "" && p.news(o) {
		p.tell(o.event)
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
			p.set(o.upToDate)
		}
	case said && o.synced.Type != "" && (o.progress == stuck || o.progress == halting || p.observed && !p.observation.ResourceExists):
		p.set(upToDate(metav1.ConditionUnknown, o.synced.Reason))
	}
}

// handled puts into the status which generation and which request of the user's
// this pass worked on.
func (p *pass) handled() {
	if g, ok := p.mg.(resource.GenerationObserver); ok {
		g.SetObservedGeneration(p.generation)
	}
	if r, ok := p.mg.(resource.ReconcileRequestee); ok && p.requested != "" {
		r.SetLastHandledReconcileAt(p.requested)
		p.tell(event.Normal(reasonRequestHandled, "Handled the request for a reconcile"))
	}
}

// news says whether the object did not say so before, of whichever generation.
func (p *pass) news(o outcome) bool {
	for _, t := range newsTypes {
		says := p.mg.GetCondition(t)
		says.ObservedGeneration = 0 // which is equal to any
		if !p.read.GetCondition(t).Equal(says) {
			return p.first(string(o.event.Reason), o.event.Message)
		}
	}

	return false
}

// first says whether a message is not the last that was told for the reason.
func (p *pass) first(reason, message string) bool {
	last, told := p.memo.LastWarnings[reason]
	if told && (last == message || external.Normalize(last) == external.Normalize(message)) {
		return false
	}
	if p.memo.LastWarnings == nil {
		p.memo.LastWarnings = map[string]string{}
	}
	p.memo.LastWarnings[reason] = message

	return true
}

// forgetWarnings forgets what was told, so that it is news once more. What is told for these reasons is not news
// as long as it goes on, also where no status is stored.
func (p *pass) forgetWarnings(but ...string) {
	maps.DeleteFunc(p.memo.LastWarnings, func(reason, _ string) bool { return !slices.Contains(but, reason) })
	if len(p.memo.LastWarnings) == 0 {
		p.memo.LastWarnings = nil
	}
}

// tell an event when the pass is over.
func (p *pass) tell(e event.Event) { p.events = append(p.events, e) }

// mention an event at once. It is for what goes wrong after the end.
func (p *pass) mention(e event.Event) {
	p.tell(e)
	p.announce()
}

func (p *pass) announce() {
	if len(p.events) == 0 {
		return
	}
	record, warn := p.r.record, p.r.warn
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

// leave ends a pass after which there is nothing to write: the object was let
// go, or is gone.
func (p *pass) leave(o outcome, err error) {
	if err != nil {
		p.log().Info("Object is gone", "error", p.redact(err))
	}
	if o.event.Reason != "" {
		p.tell(o.event)
	}
	p.announce()
	p.ended = o.name
	if err == nil && o.again == never {
		p.letGoOf()
	}
}

// conflicted asks for another pass, with the queue's back-off and in silence:
// what was read was stale.
func (p *pass) conflicted(o outcome) reconcile.Result {
	p.memo.Conflicts++
	p.announce()
	p.ended = "conflict"
	p.log().Debug("Object has changed, trying again", "outcome", o.name)

	return freshness.SilentRequeue()
}

// failed returns the outcome of a pass that ended in an error.
func (p *pass) failed(err error) outcome {
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
		return p.heldBack(err)
	}
	ready := s.ready
	if s.name == recording.name && meta.WasDeleted(p.mg) { // of an earlier pass
		ready = commonv1.Deleting()
	}
	err = p.redact(err)
	o := outcome{
		name: s.name, ready: ready, synced: commonv1.ReconcileError(err), event: event.Warning(s.reason, err),
		again: slow, progress: moving,
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
		o.again, o.after, o.progress = growing, p.doubled(longestUnstored), stuck
	} else {
		o.after = retryAfter(err, p.r.random())
	}
	if o.synced.Reason == commonv1.ReasonReferenceNotReady {
		o.progress = moving
		if !p.r.watching.Load() {
			o.again = growing
		}
	}

	return p.reworded(o)
}

// withoutSecrets returns the reason of a terminal error, if it can be shown to anybody.
func (p *pass) withoutSecrets(reason string) commonv1.ConditionReason {
	if p.mask().String(reason) != reason {
		return external.ReasonTerminalError
	}

	return commonv1.ConditionReason(reason)
}

package managed

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// After so many conflicts in a row somebody keeps changing the object, or what
// says "conflict" is not the API server: then it is told.
const silentConflicts = 5

// Report tells how a pass ended. It is the only place that writes the status at
// the end of a pass, emits events and answers the queue.
func (p *pass) report(ctx context.Context, o outcome, err error) (reconcile.Result, error) {
	_, terminal := external.TerminalReason(err)
	switch {
	case errors.Is(err, errReplaced) || err == nil && o.again == never:
		p.leave(o, err)

		return reconcile.Result{}, nil
	case kerrors.IsConflict(err) && !terminal && p.memo.conflicts < silentConflicts:
		return p.conflicted(o), nil
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled):
		// The process is asked to stop. What it did not finish is no failure
		// of the object.
		p.publish()

		return reconcile.Result{}, redact.Error(err)
	}
	if err != nil {
		o = failed(err)
	}
	o = p.conclude(o)
	werr := p.writeStatus(ctx)
	switch {
	case kerrors.IsConflict(werr) && p.memo.conflicts < silentConflicts:
		return p.conflicted(o), nil
	case errors.Is(werr, errReplaced) || kerrors.IsNotFound(werr):
		p.leave(o, nil)

		return reconcile.Result{}, nil
	}
	p.memo.conflicts = 0
	p.publish()
	p.r.metrics.pass(o.name)

	switch {
	case werr != nil:
		return reconcile.Result{}, redact.Error(errors.Wrap(werr, "cannot update managed resource status"))
	case err != nil && !terminal:
		return reconcile.Result{}, redact.Error(err)
	}
	if terminal {
		p.r.metrics.terminal(string(o.synced.Reason))
	}

	return reconcile.Result{RequeueAfter: p.delay(o.again)}, nil
}

// Conclude puts the outcome into the conditions, and tells it if it is news.
func (p *pass) conclude(o outcome) outcome {
	if o.refine != nil {
		o = o.refine(p, o)
	}
	if o.again != growing && o.again != afterGrace {
		p.memo.waits = 0
	}
	if p.found && created(p.mg) != "" {
		p.set(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved, Message: creation(p.mg, p.mg),
		})
	}
	p.set(o.conditions()...)
	if o.upToDate.Type != "" && (o.upToDate.Status == "False" || p.mg.GetCondition(commonv1.TypeUpToDate).Reason != "") {
		p.set(o.upToDate)
	}
	if o.event.Reason != "" && p.news(o) {
		p.tell(o.event)
	}
	if o.event.Type != event.TypeWarning {
		p.memo.told = nil
	}
	p.checkPollInterval()

	return o
}

// News says whether the object did not say so before.
func (p *pass) news(o outcome) bool {
	for _, t := range []commonv1.ConditionType{commonv1.TypeSynced, commonv1.TypeUpToDate} {
		if !p.read.GetCondition(t).Equal(p.mg.GetCondition(t)) {
			return p.first(string(o.event.Reason), o.event.Message)
		}
	}

	return false
}

// First says whether a message is not the last that was told for the reason.
func (p *pass) first(reason, message string) bool {
	if p.memo.told[reason] == message {
		return false
	}
	if p.memo.told == nil {
		p.memo.told = map[string]string{}
	}
	p.memo.told[reason] = message

	return true
}

// Tell an event when the pass is over.
func (p *pass) tell(e event.Event) { p.events = append(p.events, e) }

// Mention an event at once. It is for what goes wrong after the end.
func (p *pass) mention(e event.Event) {
	p.tell(e)
	p.publish()
}

func (p *pass) publish() {
	record := p.r.record
	if name := meta.GetExternalName(p.mg); name != "" && len(p.events) > 0 {
		record = record.WithAnnotations("external-name", name)
	}
	for _, e := range p.events {
		record.Event(p.mg, e)
		p.log.Info("Event", "type", string(e.Type), "reason", string(e.Reason), "message", e.Message)
	}
	p.events = nil
}

// Leave ends a pass after which there is nothing to write: the object was let
// go, or is gone.
func (p *pass) leave(o outcome, err error) {
	if err != nil {
		p.log.Info("Object is gone; what was created for it is left to recovery", "error", redact.Error(err))
	}
	if o.event.Reason != "" {
		p.tell(o.event)
	}
	p.publish()
	p.r.metrics.pass(o.name)
}

// Conflicted asks for another pass, with the queue's back-off and in silence:
// what was read was stale.
func (p *pass) conflicted(o outcome) reconcile.Result {
	p.memo.conflicts++
	p.publish()
	p.r.metrics.pass("conflict")
	p.log.Debug("Object has changed, trying again", "outcome", o.name)

	//nolint:staticcheck // the only silent, rate-limited way: RequeueAfter would reset the back-off
	return reconcile.Result{Requeue: true}
}

// Failed returns the outcome of a pass that ended in an error.
func failed(err error) outcome {
	s := unexpected
	var f *failure
	if errors.As(err, &f) {
		s = f.stage
	}
	err = redact.Error(err)
	synced := commonv1.ReconcileError(err)
	o := outcome{name: s.name, ready: s.ready, synced: synced, event: event.Event{}, again: slow}
	if s.reason != "" {
		o.event = event.Warning(s.reason, err)
	}
	if s == updating {
		o.upToDate = upToDate("False", commonv1.ReasonUpdateFailed)
	}
	if reason, terminal := external.TerminalReason(err); terminal {
		o.synced.Reason = commonv1.ConditionReason(reason)
	}

	return o
}

// Delay returns when to look again. It is never zero or less.
func (p *pass) delay(a again) time.Duration {
	interval := p.interval()
	switch a {
	case slow:
		return p.jitter(10 * interval)
	case growing:
		p.memo.waits++
		step := time.Second << min(p.memo.waits-1, 20)

		return p.jitter(min(step, interval))
	case afterGrace:
		p.memo.waits++
		step := p.jitter(min(time.Second<<min(p.memo.waits-1, 20), interval))
		if rest := p.window(); rest > 0 {
			return min(step, rest)
		}

		return step
	default:
		return positive(p.hook(interval), interval)
	}
}

func (p *pass) hook(interval time.Duration) time.Duration {
	if p.r.pollIntervalHook != nil {
		return p.r.pollIntervalHook(p.mg, interval)
	}

	return p.jitter(interval)
}

func (p *pass) jitter(d time.Duration) time.Duration {
	return max(d+time.Duration((2*p.r.random()-1)*defaultJitter*float64(d)), time.Millisecond)
}

// Interval returns the poll interval of the object.
func (p *pass) interval() time.Duration {
	own, set, err := meta.GetPollInterval(p.mg)
	if err != nil || !set {
		return p.r.pollInterval
	}

	return min(max(own, p.r.minPollInterval), maxPollInterval)
}

// CheckPollInterval tells once that an object asks for something that is no
// interval. It does nobody harm: the default is used.
func (p *pass) checkPollInterval() {
	_, _, err := meta.GetPollInterval(p.mg)
	if err == nil {
		p.memo.badInterval = ""

		return
	}
	if warning := redact.Error(err); p.memo.badInterval != warning.Error() {
		p.memo.badInterval = warning.Error()
		p.tell(event.Warning(reasonInvalidPollInterval, warning))
	}
}

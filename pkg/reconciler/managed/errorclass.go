package managed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// An errorClass is a class of errors that has its own condition reason and its own retry policy.
type errorClass struct {
	name   string // in metrics
	is     func(error) bool
	reason commonv1.ConditionReason // of Synced; empty if the class has none
	shared bool                     // it affects all objects that share the connection
}

// Every class. The first that matches an error counts.
var failureClasses = []errorClass{
	{"held", gates.IsHeld, "", true},
	{"terminal", isTerminal, "", false},
	{"panicked", isPanic, commonv1.ReasonClientPanicked, false},
	{"not-stored", isNotStored, commonv1.ReasonMarksNotStored, false},
	{"throttled", isThrottled, commonv1.ReasonThrottled, true},
	{"unauthorized", external.IsUnauthorized, commonv1.ReasonUnauthorized, true},
	{"unavailable", external.IsUnavailable, commonv1.ReasonExternalSystemUnavailable, true},
	{"retry-after", saysWhen, "", false},
	{"other", func(error) bool { return true }, "", false},
}

func classify(err error) errorClass {
	for _, c := range failureClasses {
		if c.is(err) {
			return c
		}
	}

	return errorClass{}
}

func isTerminal(err error) bool {
	_, ok := external.TerminalReason(err)

	return ok
}

func isPanic(err error) bool {
	var p *panics.Error

	return err != nil && errors.As(err, &p)
}

func isThrottled(err error) bool {
	_, _, ok := external.AsThrottled(err)

	return ok
}

func saysWhen(err error) bool {
	_, ok := external.AsRetryAfter(err)

	return ok
}

// How long an object may be throttled before it reports the reason.
const unreportedThrottle = 10 * time.Second

// throttled returns the outcome of a pass that a failure of the connection has stopped. The configuration reports the
// failure. The object reports it only if its user has waited for the object for more than a moment, or if it shows
// another failure.
func (p *clientSession) throttled(err error) outcome {
	o := outcomes[held]
	if o.after = retryAfter(err, 0); o.after == 0 {
		o.after = max(p.backoffDelay(p.interval()),
			p.gate.State().Resume.Sub(p.now())) // not before the gate admits calls again
	}
	if external.IsUnauthorized(err) {
		o.after = p.rereadAfter(o.after)
	}
	if p.priority != lifecycle.User && !p.showsOtherFailure() {
		return o
	}
	reason := commonv1.ReasonThrottled
	switch {
	case external.IsUnauthorized(err):
		reason = commonv1.ReasonUnauthorized
	case external.IsUnavailable(err):
		reason = commonv1.ReasonExternalSystemUnavailable
	case o.after < unreportedThrottle || p.priority != lifecycle.User:
		return o
	}
	o.synced = unsynced(reason, p.throttledMessage(reason, err))

	return p.reworded(o)
}

// showsOtherFailure reports whether the object shows a failure that may be over, because calls fail now for another
// reason. An example is a configuration that did not exist yet when the object was reconciled first. A terminal error
// lasts.
func (p *clientSession) showsOtherFailure() bool {
	synced := p.read.GetCondition(commonv1.TypeSynced)

	return synced.Status == metav1.ConditionFalse && synced.Reason == commonv1.ReasonReconcileError
}

// rereadAfter returns when an object connects again whose credentials were rejected. One object at a time does so soon,
// and reads the credentials again when it connects, so that corrected credentials are noticed although calls are held
// for longer. It keeps Recheck until then: another object that connects in between would use it up too early.
func (p *clientSession) rereadAfter(after time.Duration) time.Duration {
	at, reread := p.gate.RereadAfter(after)
	if reread && p.connection.Recheck != nil {
		p.state.reread = rereadTurn{p.connection.Recheck, p.now().Add(at)}
	}

	return at
}

// A rereadTurn is the turn of an object to read rejected credentials again. The zero value is no turn.
type rereadTurn struct {
	recheck func() // of the connection; nil: it has none
	due     time.Time
}

// rereadCredentials makes the connect that follows read the credentials again, if the turn of the object has come.
func (p *clientSession) rereadCredentials() {
	turn := p.state.reread
	if turn.recheck == nil || p.now().Before(turn.due) {
		return
	}
	p.state.reread = rereadTurn{}
	turn.recheck()
}

var textsHeld = map[commonv1.ConditionReason]string{
	commonv1.ReasonThrottled: "more is asked of the external system than it allows: waiting for a turn",
	commonv1.ReasonUnauthorized: "the external system does not accept the credentials: correct those of " +
		"the ProviderConfig",
	commonv1.ReasonExternalSystemUnavailable: "the external system is unavailable: waiting until it is back",
}

// retryAfter returns the delay that an error requests, plus up to a tenth. It returns zero if the error requests
// none. It adds nothing to the delay of a gate, which differs for each caller.
func retryAfter(err error, random float64) time.Duration {
	after, ok := external.AsRetryAfter(err)
	if !ok {
		return 0
	}

	return after + time.Duration(random*float64(after)/10)
}

// throttledMessage returns the message about the connection. It does not depend on whether the call was made for
// this object.
func (p *clientSession) throttledMessage(reason commonv1.ConditionReason, err error) string {
	text, cause := textsHeld[reason], p.causeOf(err)
	if gates.IsHeld(err) {
		cause = p.gate.State().Message
	}
	if cause == "" || reason == commonv1.ReasonThrottled {
		return text
	}

	return text + "; last error: " + cause
}

// The longest cause in a message, which leaves room for the rest of it.
const longestCause = 512

// causeOf returns the public part of an error about the connection.
func (p *clientSession) causeOf(err error) string {
	cause, _ := external.SharedCause(err)

	return p.mask().Long(cause, longestCause)
}

// waitForChange returns when to check whether the cause of a terminal error has changed. Changes of the object, of
// its configuration and of its references cause events. A change of the credentials causes none. It is visible in the
// revision of the connection, which costs no call.
func (p *recovery) waitForChange(o outcome) time.Duration {
	until := p.delay(o.requeue)
	if p.connection.Revision == "" {
		return until
	}
	next := min(p.jitter(p.interval()), until)
	p.state.Stop = objectstate.Stop{
		Version: p.mg.GetResourceVersion(), Revision: p.connection.Revision,
		Due: p.now().Add(next), Until: p.now().Add(until),
	}

	return next
}

// causeUnchanged reports whether the pass was caused only by time, and nothing has changed that could resolve a
// terminal error.
func (p *clientSession) causeUnchanged() bool {
	s := p.state.Stop
	now := p.now()

	return s.Revision != "" && s.Revision == p.connection.Revision && s.Version == p.read.GetResourceVersion() &&
		!now.Before(s.Due) && now.Before(s.Until)
}

// stabilizeMessages keeps the previous message of a condition if the new message differs only in volatile parts, such
// as identifiers, times and counters. Otherwise each failure would be written again.
func (p *clientSession) stabilizeMessages() {
	for _, t := range outcomeTypes {
		before, now := p.read.GetCondition(t), p.mg.GetCondition(t)
		if before.Message == now.Message || before.Status != now.Status || before.Reason != now.Reason {
			continue
		}
		if external.Normalize(before.Message) == external.Normalize(now.Message) {
			now.Message = before.Message
			p.mg.SetConditions(now)
		}
	}
}

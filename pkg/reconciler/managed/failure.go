package managed

import (
	"cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reference"
)

// A failure is an error that knows the stage of the pass that has failed.
type failure struct {
	stage row
	error
}

func (f *failure) Unwrap() error { return f.error }

// failed returns err as a failure of the stage. If err is a failure already, its stage stays, because it is the more
// precise one. If err is nil, the result is nil.
func (s row) failed(err error) error {
	if err == nil {
		return nil
	}
	stage := cmp.Or(stageOf(err), s)
	if prefix := outcomes[s].prefix; prefix != "" {
		err = errors.Wrap(err, prefix)
	}

	return &failure{stage, err}
}

// stageOf returns the stage that has failed. If it is not known, stageOf returns the zero row.
func stageOf(err error) row {
	var f *failure
	if !errors.As(err, &f) {
		return 0
	}

	return f.stage
}

// failureOutcome returns the outcome of a pass that ended in an error.
func (p *clientSession) failureOutcome(err error) outcome {
	if reference.IsExpected(err) {
		return p.awaitingReference(err)
	}
	s := cmp.Or(stageOf(err), unexpected)
	if external.IsUnauthorized(err) && p.connection.Recheck != nil && !gates.IsHeld(err) {
		p.connection.Recheck()
	}
	c := classify(err)
	p.r.telemetry.Failed(c.name)
	if c.shared && p.gate != nil {
		return p.throttled(err)
	}
	o := outcomes[s]
	if (s == recording || s == rereading) && meta.WasDeleted(p.mg) { // of an earlier pass
		o.ready = commonv1.Deleting()
	}
	err = p.redact(err)
	o.synced, o.event = commonv1.ReconcileError(err), event.Warning(o.event.Reason, err)
	if c.reason != "" {
		o.synced.Reason = c.reason
	}
	if reason, terminal := external.TerminalReason(err); terminal {
		o.synced.Reason = p.withoutSecrets(reason)
		if s != awaitingCollection {
			o.progress = stuck
		}
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

// withoutSecrets returns the reason of a terminal error, unless it contains a secret.
func (p *journal) withoutSecrets(reason string) commonv1.ConditionReason {
	if p.mask().String(reason) != reason {
		return external.ReasonTerminalError
	}

	return commonv1.ConditionReason(reason)
}

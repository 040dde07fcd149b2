package serviceprovider

import (
	"context"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// attempt acts. A panic of the author's code, or of the text of its error, is a failure of
// what was to be done: the status says so, and the process goes on for all other objects.
func (p *pass[T, C]) attempt(ctx context.Context, action passage.Action) (over *outcome) {
	err := panics.Call(func() error {
		if over = p.act(ctx, action); over != nil && over.err != nil {
			_ = over.err.Error()
		}

		return nil
	})
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		return p.panicked(action, panicked)
	}

	return over
}

// panicked ends the pass with a failure of an action. The stack is for the log.
func (p *pass[T, C]) panicked(action passage.Action, err *panics.Error) *outcome {
	o := p.failed(err, p.stage(action))
	o.silent = action == passage.Configure && p.hasReadyCondition() // what cannot be told changes nothing
	switch {
	case action == passage.Access:
		o.access = ReasonClusterAccessFailed
	case p.facts.Granted:
		o.access = ReasonGranted
	}
	p.r.logger.Info("The code of a service panicked", "object", p.req.String(), "step", action.String(),
		"error", p.mask().Error(o.err), "stack", p.mask().String(string(err.Stack)))

	return o
}

// stage returns how the failure of an action begins, in the status and in errors.
func (p *pass[T, C]) stage(action passage.Action) string {
	switch action {
	case passage.Configure:
		return "cannot tell the provider config"
	case passage.Hold:
		return "failed to add finalizer"
	case passage.Default:
		return "failed to default object"
	case passage.Check:
		return "failed to check access requests in deletion"
	case passage.Access:
		if p.facts.Leaving {
			return "cluster cleanup error"
		}

		return "cluster setup error"
	case passage.Clean:
		return "Delete failed"
	case passage.Withdraw:
		return "failed cluster access reconcile delete"
	case passage.Release:
		return "failed to remove finalizer"
	case passage.Work:
		return "CreateOrUpdate failed"
	default:
		return "failed to look at the object"
	}
}

package serviceprovider

import (
	"context"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// actRecovered runs an action and recovers a panic of the Reconciler or of the Error method of its error. The status
// reports a panic as a failure of the action, and the process continues.
func (p *pass[T, C]) actRecovered(ctx context.Context, action lifecycle.Action) (over *outcome) {
	err := panics.Call(func() error {
		if over = p.act(ctx, action); over != nil && over.err != nil {
			_ = over.err.Error()
		}

		return nil
	})
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		return p.panicOutcome(action, panicked)
	}

	return over
}

// panicOutcome returns the outcome of an action that panicked. It logs the stack.
func (p *pass[T, C]) panicOutcome(action lifecycle.Action, err *panics.Error) *outcome {
	o := p.failedOutcome(err, p.failureMessage(action))
	o.keepReady = action == lifecycle.ReadConfig && p.hasReadyCondition() // an unknown configuration changes nothing
	switch {
	case action == lifecycle.RequestAccess:
		o.accessReason = ReasonClusterAccessFailed
	case p.facts.Granted:
		o.accessReason = ReasonGranted
	}
	p.r.logger.Info("Recovered a panic of the service", "object", p.req.String(), "step", action.String(),
		"error", p.mask().Error(o.err), "stack", p.mask().String(string(err.Stack)))

	return o
}

// failureMessage returns the prefix for the errors of an action. It is used in the status and in returned errors.
func (p *pass[T, C]) failureMessage(action lifecycle.Action) string {
	switch action {
	case lifecycle.ReadConfig:
		return "cannot read the provider config"
	case lifecycle.AddFinalizer:
		return "failed to add finalizer"
	case lifecycle.Default:
		return "failed to default object"
	case lifecycle.CheckRequests:
		return "failed to check access requests in deletion"
	case lifecycle.RequestAccess:
		if p.facts.Deleted {
			return "cluster cleanup error"
		}

		return "cluster setup error"
	case lifecycle.DeleteService:
		return "Delete failed"
	case lifecycle.ReleaseAccess:
		return "failed cluster access reconcile delete"
	case lifecycle.RemoveFinalizer:
		return "failed to remove finalizer"
	case lifecycle.CreateOrUpdate:
		return "CreateOrUpdate failed"
	default:
		return "failed to reconcile the object"
	}
}

package serviceprovider

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// slow is when to look at an object again that waits for somebody: an event is expected
// to come before.
const slow = 10 * time.Minute

// act does what was decided. It returns how the pass ended, or nil if it goes on.
func (p *pass[T, C]) act(ctx context.Context, action passage.Action) *outcome {
	switch action {
	case passage.Configure:
		p.configure(ctx)

		return nil
	case passage.Hold:
		return p.failed(p.hold(ctx), p.stage(action))
	case passage.Default:
		return p.failed(p.fill(ctx), p.stage(action))
	case passage.Check:
		return p.failed(p.check(ctx), p.stage(action))
	case passage.Access:
		return p.access(ctx)
	case passage.Clean:
		return p.clean(ctx)
	case passage.Withdraw:
		return p.withdraw(ctx)
	case passage.Work:
		return p.work(ctx)
	case passage.Release:
		return p.release(ctx)
	default:
		return p.waits(action)
	}
}

// waits returns the outcome of an action that does nothing but to say so.
func (p *pass[T, C]) waits(action passage.Action) *outcome {
	switch action {
	case passage.Pause:
		return &outcome{name: "Paused", paused: true}
	case passage.AwaitConfig:
		if errors.Is(p.noConfig, ErrConfigNotLoaded) {
			return &outcome{name: "ConfigNotLoaded", silent: p.hasReadyCondition(), reason: ReasonReconcileError, message: "No ProviderConfig found", after: p.soon()}
		}

		return &outcome{name: "ConfigUnknown", silent: true, err: errors.Wrap(p.noConfig, p.stage(passage.Configure))}
	case passage.NeedConfig:
		return &outcome{name: "ConfigMissing", reason: ReasonReconcileError, message: "No ProviderConfig found", after: slow}
	case passage.AwaitAccess:
		o := &outcome{name: "AccessPending", reason: ReasonWaitingForClusterAccess, message: "Waiting for access to the clusters", after: p.wait, access: ReasonWaitingForClusterAccess}
		switch {
		case p.facts.ClusterGone:
			o.message, o.after, o.access = p.why.Error(), p.soon(), ReasonClusterGone
		case p.facts.Request == passage.Leaving:
			o.message += ": an AccessRequest is being deleted, and is made anew for the deletion"
			o.warning = EventClusterAccessMissing
		case p.facts.Request == passage.Missing:
			o.message += ": an AccessRequest does not exist any more, and was made anew for the deletion"
			o.warning = EventClusterAccessMissing
		}

		return o
	case passage.Deny:
		return &outcome{
			name: "AccessDenied", reason: ReasonClusterAccessDenied, message: p.why.Error(), after: slow,
			access: ReasonClusterAccessDenied, blocked: p.blocks(ReasonClusterAccessDenied), warning: EventClusterAccessDenied,
		}
	case passage.Block:
		o := &outcome{name: "DeletionBlocked", reason: ReasonConfigMissing, message: "Deletion waits for the ProviderConfig", after: p.soon(), warning: EventDeletionBlocked}
		switch {
		case p.facts.ClusterGone:
			o.reason, o.message, o.access = ReasonClusterGone, "Deletion waits for a cluster: "+p.why.Error(), ReasonClusterGone
		case p.facts.NotOwned:
			o.reason, o.message, o.access = ReasonClusterAccessNotOwned, "Deletion waits for access: "+p.why.Error(), ReasonClusterAccessNotOwned
		}
		o.blocked = o.reason

		return o
	default:
		return &outcome{name: "NothingToDo", silent: true}
	}
}

// soon is when to look again without an event that tells.
func (p *pass[T, C]) soon() time.Duration { return p.r.jittered(30 * time.Second) }

// blocks returns the reason for which a deletion is blocked, none if there is no deletion.
func (p *pass[T, C]) blocks(reason string) string {
	if p.facts.Leaving {
		return reason
	}

	return ""
}

// access asks for access to the clusters. If that fails, the status says so in two places.
func (p *pass[T, C]) access(ctx context.Context) *outcome {
	o := p.failed(p.ask(ctx), p.stage(passage.Access))
	if o != nil && !o.silent {
		o.access = ReasonClusterAccessFailed
	}

	return o
}

// failed ends the pass if there was an error. What the status says begins with the
// message, and goes on with the cause. A conflict says nothing of how the service does.
func (p *pass[T, C]) failed(err error, message string) *outcome {
	if err = errors.Wrap(err, message); err != nil {
		return &outcome{name: "Failed", silent: conflicts(err), reason: ReasonReconcileError, message: err.Error(), err: err}
	}

	return nil
}

// work lets the domain create or update.
func (p *pass[T, C]) work(ctx context.Context) *outcome {
	p.called = true
	result, err := p.r.domain.CreateOrUpdate(ctx, p.obj, p.config, p.clusters)

	return &outcome{name: "Worked", silent: true, access: ReasonGranted, result: result, err: err, polls: true}
}

// clean lets the domain remove what it made. Only an empty result and no error mean that
// it has.
func (p *pass[T, C]) clean(ctx context.Context) *outcome {
	p.called = true
	result, err := p.r.domain.Delete(ctx, p.obj, p.config, p.clusters)
	//nolint:staticcheck // domains that were written for it still ask for Requeue
	if err != nil || result.RequeueAfter > 0 || result.Requeue {
		return &outcome{name: "Cleaning", silent: true, access: ReasonGranted, result: result, err: err}
	}
	p.facts.Cleaned = true

	return nil
}

// withdraw gives access back, once the status says so.
func (p *pass[T, C]) withdraw(ctx context.Context) *outcome {
	p.leaves = true
	if err := p.record(ctx); err != nil {
		return p.failed(err, p.stage(passage.Withdraw))
	}
	switch result, err := p.r.access.ReconcileDelete(ctx, p.req, p.data...); {
	case err != nil:
		return p.failed(err, p.stage(passage.Withdraw))
	case result.RequeueAfter > 0:
		o := p.withdrawing()
		o.after = result.RequeueAfter

		return o
	default:
		p.facts.Withdrawn = true

		return nil
	}
}

func (p *pass[T, C]) withdrawing() *outcome {
	return &outcome{name: "Withdrawing", silent: p.called, reason: ReasonTerminating, message: "Cleanup in progress"}
}

// release takes our finalizer from the object. If no other keeps it, its status is of no
// interest any more.
func (p *pass[T, C]) release(ctx context.Context) *outcome {
	err := resource.NewAPIFinalizer(p.r.onboarding.Client(), p.obj.Finalizer()).RemoveFinalizer(ctx, p.obj)
	if err != nil {
		return p.failed(err, p.stage(passage.Release))
	}
	p.known.version = p.obj.GetResourceVersion()

	return &outcome{
		name: "Released", silent: p.called, reason: ReasonTerminating, message: "Cleanup in progress", gone: len(p.obj.GetFinalizers()) == 0,
	}
}

// An outcome is how a pass ended.
type outcome struct {
	name string // for the metric

	// What the status is to say. Silent leaves Ready and phase as they are, or as the
	// domain has put them.
	silent  bool
	reason  string
	message string
	access  string // reason of ClusterAccessReady; empty leaves it
	blocked string // reason of DeletionBlocked; empty means that it is not
	paused  bool
	gone    bool // there is nothing left to write to

	warning eventReason // told when the status begins to say so

	// When to look again.
	result ctrl.Result
	after  time.Duration
	polls  bool // at the poll interval, or when the credentials expire
	err    error
}

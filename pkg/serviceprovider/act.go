package serviceprovider

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// longRequeue is the requeue interval of an object that waits for a user or an administrator. Usually an event causes
// the next reconcile earlier.
const longRequeue = 10 * time.Minute

// act runs an action. It returns the outcome of the pass, or nil if the pass continues.
func (p *pass[T, C]) act(ctx context.Context, action lifecycle.Action) *outcome {
	switch action {
	case lifecycle.ReadConfig:
		p.readConfig(ctx)

		return nil
	case lifecycle.AddFinalizer:
		return p.failedOutcome(p.addFinalizer(ctx), p.failureMessage(action))
	case lifecycle.Default:
		return p.failedOutcome(p.applyDefaults(ctx), p.failureMessage(action))
	case lifecycle.CheckRequests:
		return p.failedOutcome(p.checkRequests(ctx), p.failureMessage(action))
	case lifecycle.RequestAccess:
		return p.requestAccess(ctx)
	case lifecycle.DeleteService:
		return p.deleteService(ctx)
	case lifecycle.ReleaseAccess:
		return p.releaseAccess(ctx)
	case lifecycle.CreateOrUpdate:
		return p.createOrUpdate(ctx)
	case lifecycle.RemoveFinalizer:
		return p.removeFinalizer(ctx)
	default:
		return p.waitOutcome(action)
	}
}

// waitOutcome returns the outcome of an action that only reports what the object waits for.
func (p *pass[T, C]) waitOutcome(action lifecycle.Action) *outcome {
	switch action {
	case lifecycle.ReportPaused:
		return &outcome{name: "Paused", paused: true}
	case lifecycle.AwaitConfig:
		if errors.Is(p.configErr, ErrConfigNotLoaded) {
			return &outcome{
				name: "ConfigNotLoaded", keepReady: p.hasReadyCondition(), reason: ReasonReconcileError,
				message: "No ProviderConfig found", requeueAfter: p.shortRequeue(),
			}
		}

		return &outcome{
			name: "ConfigUnknown", keepReady: true,
			err: errors.Wrap(p.configErr, p.failureMessage(lifecycle.ReadConfig)),
		}
	case lifecycle.ReportConfigMissing:
		return &outcome{
			name: "ConfigMissing", reason: ReasonReconcileError, message: "No ProviderConfig found",
			requeueAfter: longRequeue,
		}
	case lifecycle.AwaitAccess:
		o := &outcome{
			name: "AccessPending", reason: ReasonWaitingForClusterAccess, message: "Waiting for access to the clusters",
			requeueAfter: p.accessRequeueAfter, accessReason: ReasonWaitingForClusterAccess,
		}
		switch {
		case p.facts.ClusterGone:
			o.message, o.requeueAfter, o.accessReason = p.accessErr.Error(), p.shortRequeue(), ReasonClusterGone
		case p.facts.Requests == lifecycle.RequestDeleting:
			o.message += ": an AccessRequest is being deleted, and is created again for the deletion"
			o.warning = EventClusterAccessMissing
		case p.facts.Requests == lifecycle.RequestMissing:
			o.message += ": an AccessRequest does not exist any more, and was created again for the deletion"
			o.warning = EventClusterAccessMissing
		}

		return o
	case lifecycle.ReportAccessDenied:
		return &outcome{
			name: "AccessDenied", reason: ReasonClusterAccessDenied, message: p.accessErr.Error(),
			requeueAfter:  longRequeue,
			accessReason:  ReasonClusterAccessDenied,
			blockedReason: p.deletionBlockedReason(ReasonClusterAccessDenied), warning: EventClusterAccessDenied,
		}
	case lifecycle.ReportDeletionBlocked:
		return p.deletionBlockedOutcome()
	default:
		return &outcome{name: "NothingToDo", keepReady: true}
	}
}

// deletionBlockedOutcome returns the outcome of a deletion that waits for a change by a user or an administrator.
func (p *pass[T, C]) deletionBlockedOutcome() *outcome {
	o := &outcome{
		name: "DeletionBlocked", reason: ReasonConfigMissing, message: "Deletion waits for the ProviderConfig",
		requeueAfter: p.shortRequeue(), warning: EventDeletionBlocked,
	}
	switch {
	case p.facts.ClusterGone:
		o.message = "Deletion waits for a cluster: " + p.accessErr.Error()
		o.reason, o.accessReason = ReasonClusterGone, ReasonClusterGone
	case p.facts.NotOwned:
		o.message = "Deletion waits for access: " + p.accessErr.Error()
		o.reason, o.accessReason = ReasonClusterAccessNotOwned, ReasonClusterAccessNotOwned
	}
	o.blockedReason = o.reason

	return o
}

// shortRequeue returns the requeue interval for changes that cause no event.
func (p *pass[T, C]) shortRequeue() time.Duration { return p.r.jitter(30 * time.Second) }

// deletionBlockedReason returns the reason if the object is being deleted, and "" otherwise.
func (p *pass[T, C]) deletionBlockedReason(reason string) string {
	if p.facts.Deleted {
		return reason
	}

	return ""
}

// requestAccess requests access to the clusters. If this fails, the outcome sets Ready and ClusterAccessReady to False.
func (p *pass[T, C]) requestAccess(ctx context.Context) *outcome {
	o := p.failedOutcome(p.reconcileAccess(ctx), p.failureMessage(lifecycle.RequestAccess))
	if o != nil && !o.keepReady {
		o.accessReason = ReasonClusterAccessFailed
	}

	return o
}

// failedOutcome returns an outcome that ends the pass with the error, or nil if err is nil. The message is the prefix
// of the error. After a conflict, Ready is not changed.
func (p *pass[T, C]) failedOutcome(err error, message string) *outcome {
	if err = errors.Wrap(err, message); err != nil {
		return &outcome{
			name: "Failed", keepReady: isConflict(err), reason: ReasonReconcileError, message: err.Error(), err: err,
		}
	}

	return nil
}

// createOrUpdate calls CreateOrUpdate of the domain.
func (p *pass[T, C]) createOrUpdate(ctx context.Context) *outcome {
	p.domainCalled = true
	result, err := p.r.domain.CreateOrUpdate(ctx, p.obj, p.config, p.clusters)

	return &outcome{
		name: "Worked", keepReady: true, accessReason: ReasonGranted, result: result, err: err,
		polled: true,
	}
}

// deleteService calls Delete of the Reconciler. Delete has finished only if it returns an empty result and no error.
func (p *pass[T, C]) deleteService(ctx context.Context) *outcome {
	p.domainCalled = true
	result, err := p.r.domain.Delete(ctx, p.obj, p.config, p.clusters)
	//nolint:staticcheck // older domains still return Requeue
	if err != nil || result.RequeueAfter > 0 || result.Requeue {
		return &outcome{name: "Cleaning", keepReady: true, accessReason: ReasonGranted, result: result, err: err}
	}
	p.facts.ServiceDeleted = true

	return nil
}

// releaseAccess releases access to the clusters. It first writes the status that records the release.
func (p *pass[T, C]) releaseAccess(ctx context.Context) *outcome {
	p.releasingAccess = true
	if err := p.recordRelease(ctx); err != nil {
		p.releasingAccess = false // nothing is released

		return p.failedOutcome(err, p.failureMessage(lifecycle.ReleaseAccess))
	}
	switch result, err := p.r.access.ReconcileDelete(ctx, p.req, p.accessData...); {
	case err != nil:
		return p.failedOutcome(err, p.failureMessage(lifecycle.ReleaseAccess))
	case result.RequeueAfter > 0:
		o := p.releasingOutcome()
		o.requeueAfter = result.RequeueAfter

		return o
	default:
		p.facts.AccessReleased = true

		return nil
	}
}

// releasingOutcome returns the outcome of a pass that waits until access is released.
func (p *pass[T, C]) releasingOutcome() *outcome {
	return &outcome{
		name: "Withdrawing", keepReady: p.domainCalled, reason: ReasonTerminating, message: "Cleanup in progress",
	}
}

// removeFinalizer removes our finalizer. If it was the last finalizer, the object is gone, so the status is not
// written.
func (p *pass[T, C]) removeFinalizer(ctx context.Context) *outcome {
	err := resource.NewAPIFinalizer(p.r.onboarding.Client(), p.obj.Finalizer()).RemoveFinalizer(ctx, p.obj)
	if err != nil {
		return p.failedOutcome(err, p.failureMessage(lifecycle.RemoveFinalizer))
	}
	p.state.writtenVersion = p.obj.GetResourceVersion()

	return &outcome{
		name: "Released", keepReady: p.domainCalled, reason: ReasonTerminating, message: "Cleanup in progress",
		objectGone: len(p.obj.GetFinalizers()) == 0,
	}
}

// outcome is the result of a pass.
type outcome struct {
	name string // label of the metric

	// What the status reports. With keepReady, Ready and phase stay as they are, or as the
	// domain has set them.
	keepReady     bool
	reason        string
	message       string
	accessReason  string // of ClusterAccessReady; if empty, the condition stays
	blockedReason string // of DeletionBlocked; if empty, nothing blocks
	paused        bool
	objectGone    bool // the object is gone with the last finalizer

	warning eventReason // reason of an event, emitted when the reason of Ready changes

	// When to requeue.
	result       ctrl.Result
	requeueAfter time.Duration
	polled       bool // also after the poll interval, and when the credentials expire
	err          error
}

package serviceprovider

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

type eventReason = event.Reason

// Reasons of the events about objects of a service.
const (
	// EventClusterAccessDenied: the platform denies access to a cluster.
	EventClusterAccessDenied event.Reason = "ClusterAccessDenied"

	// EventClusterAccessMissing: access is requested again, because an AccessRequest of an object that is being deleted
	// does not exist any more. If the controller was renamed, the requests under the former name of the controller remain
	// on the platform: see clusteraccess.WithFormerNames.
	EventClusterAccessMissing event.Reason = "ClusterAccessMissing"

	// EventServiceOrphaned: the controller has released access and removed the finalizer without a call of Delete.
	EventServiceOrphaned event.Reason = "ServiceOrphaned"

	// EventDeletionBlocked: a deletion waits for a change by a user or an administrator.
	EventDeletionBlocked event.Reason = "DeletionBlocked"

	// EventReconciliationPaused: an annotation pauses reconciliation.
	EventReconciliationPaused event.Reason = "ReconciliationPaused"
)

// report writes the outcome to the status, an event and a metric, and returns the result. No other function reports an
// outcome.
func (p *pass[T, C]) report(ctx context.Context, o outcome) (ctrl.Result, error) {
	if p.r.countOutcome != nil {
		p.r.countOutcome(o.name)
	}
	if p.orphaning() {
		p.r.recorder.Event(
			p.obj,
			event.Warning(
				EventServiceOrphaned,
				errors.New("access is released without a call of Delete: the service may remain in the clusters")))
	}
	switch {
	case o.objectGone:
		p.state.markFinalizersRemoved()
	case p.facts.Exists:
		ev := p.updateStatus(o)
		if err := p.writeStatus(ctx); err != nil {
			o.err = joinErrors(o.err, err)
		} else if ev != nil {
			p.r.recorder.Event(p.obj, *ev)
		}
	}
	if isConflict(o.err) {
		// The write of another client causes an event.
		return freshness.SilentRequeue(), nil
	}
	if o.err != nil {
		return ctrl.Result{}, p.mask().Error(o.err)
	}

	return p.requeue(o), nil
}

// updateStatus sets the status of the object in memory. If the warning of the outcome is new in the status, it returns
// an event.
func (p *pass[T, C]) updateStatus(o outcome) *event.Event {
	if o.paused {
		return p.setPaused()
	}
	if c := meta.FindStatusCondition(*p.obj.GetConditions(), ConditionSynced); c != nil &&
		c.Reason == ReasonReconcilePaused {
		setCondition(p.obj, ConditionSynced, metav1.ConditionTrue, ReasonReconcileSuccess, "")
	}
	message := p.redactText(o.message)
	ev := p.warningFor(o, message)
	if !o.keepReady || p.releasingAccess &&
		meta.IsStatusConditionTrue(*p.obj.GetConditions(), ServiceProviderConditionReady) {
		p.setNotReady(o.reason, message)
	}
	if o.accessReason != "" {
		status := metav1.ConditionFalse
		if o.accessReason == ReasonGranted {
			status, message = metav1.ConditionTrue, ""
		}
		setCondition(p.obj, ConditionClusterAccessReady, status, o.accessReason, message)
	}
	p.setDeletionBlocked(o, message)
	p.setServiceCreated()
	p.redactConditions()

	return ev
}

// setPaused sets Synced to False. It returns an event, unless Synced was False before.
func (p *pass[T, C]) setPaused() *event.Event {
	paused := meta.IsStatusConditionFalse(*p.obj.GetConditions(), ConditionSynced)
	setCondition(p.obj, ConditionSynced, metav1.ConditionFalse, ReasonReconcilePaused, "Reconciliation is paused")
	if paused {
		return nil
	}

	return new(event.Normal(EventReconciliationPaused, "the annotation "+p.r.annotation+" pauses reconciliation"))
}

// warningFor returns the warning of an outcome. It returns nil if the stored condition Ready already has the same
// reason.
func (p *pass[T, C]) warningFor(o outcome, message string) *event.Event {
	old := meta.FindStatusCondition(p.storedConditions(), ServiceProviderConditionReady)
	if o.warning == "" || old != nil && old.Reason == o.reason {
		return nil
	}

	return new(event.Warning(o.warning, errors.New(message)))
}

// setServiceCreated sets ServiceCreated, on which deletions depend. If the condition is missing, it sets the condition
// again. The Reconciler, an older version, a restored backup or an ended process may have left it out. The pass that
// adds the finalizer sets the reason NotCreated, because nothing exists before the first call of the Reconciler. It
// does so only if the status has no condition ClusterAccessReady.
func (p *pass[T, C]) setServiceCreated() {
	reconciled := p.domainCalled && !p.facts.Deleted
	missing := p.facts.MaybeCreated && !meta.IsStatusConditionTrue(*p.obj.GetConditions(), ConditionServiceCreated) &&
		!p.presumedUnchecked()
	switch {
	case p.orphaning():
		setCondition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonOrphaned, "")
	case p.releasingAccess && p.facts.MaybeCreated:
		setCondition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonDeleted, "")
	case reconciled || missing:
		setCondition(p.obj, ConditionServiceCreated, metav1.ConditionTrue, ReasonCreated, "")
	case p.facts.HasFinalizer && !p.hadFinalizer() && !hasAccessCondition(*p.obj.GetConditions()):
		setCondition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonNotCreated, "")
	}
}

// presumedUnchecked reports whether only the finalizer implies that something was created, and the AccessRequests were
// not read. The AccessRequests show whether a previous runtime releases access. This matters only while the status has
// no condition of ours.
func (p *pass[T, C]) presumedUnchecked() bool {
	recorded := hasAccessCondition(p.storedConditions()) ||
		meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated) != nil

	return p.facts.Deleted && p.facts.Requests == lifecycle.RequestsUnchecked && !recorded
}

// orphaning reports whether this pass has begun to release access although something may still exist that Delete has
// not removed.
func (p *pass[T, C]) orphaning() bool {
	return p.releasingAccess && p.facts.MaybeCreated && !p.facts.ServiceDeleted
}

// maybeCreated reports whether something may exist in the clusters. It returns true if Ready is True, because another
// runtime does not change our other conditions. Otherwise it returns whether ServiceCreated is True, or, without this
// condition, whether ClusterAccessReady is True. If the status has neither condition, it was lost or never written.
// Then it returns whether the object has our finalizer, which is stored before the first call of the Reconciler.
func (p *pass[T, C]) maybeCreated() bool {
	if meta.IsStatusConditionTrue(p.storedConditions(), ServiceProviderConditionReady) {
		return true
	}

	if c := meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated); c != nil {
		return c.Status == metav1.ConditionTrue
	}

	if hasAccessCondition(p.storedConditions()) {
		return meta.IsStatusConditionTrue(p.storedConditions(), ConditionClusterAccessReady)
	}

	return p.hadFinalizer()
}

// hasServiceCondition reports whether the status has a condition of this or a previous runtime. Without such a
// condition, it is only presumed that something was created.
func (p *pass[T, C]) hasServiceCondition() bool {
	return p.hasReadyCondition() || hasAccessCondition(p.storedConditions()) ||
		meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated) != nil
}

// creationRecorded reports whether ServiceCreated is True. This runtime sets it to False before it releases access. An
// AccessRequest that is deleted while it is True was therefore deleted by a third party.
func (p *pass[T, C]) creationRecorded() bool {
	return meta.IsStatusConditionTrue(p.storedConditions(), ConditionServiceCreated)
}

// hasAccessCondition reports whether there is a condition ClusterAccessReady.
func hasAccessCondition(conditions []metav1.Condition) bool {
	return meta.FindStatusCondition(conditions, ConditionClusterAccessReady) != nil
}

// setNotReady sets Ready to False, and sets the phase.
func (p *pass[T, C]) setNotReady(reason, message string) {
	if p.facts.Deleted {
		StatusTerminatingWithReason(p.obj, reason, message)
	} else {
		StatusProgressing(p.obj, reason, message)
	}
}

// setDeletionBlocked sets or removes DeletionBlocked. It does not change a condition whose reason was set by the
// Reconciler.
func (p *pass[T, C]) setDeletionBlocked(o outcome, message string) {
	if o.blockedReason != "" {
		setCondition(p.obj, ConditionDeletionBlocked, metav1.ConditionTrue, o.blockedReason, message)

		return
	}
	c := meta.FindStatusCondition(*p.obj.GetConditions(), ConditionDeletionBlocked)
	if c == nil || o.err != nil {
		return
	}
	switch c.Reason {
	case ReasonConfigMissing, ReasonClusterGone, ReasonClusterAccessDenied, ReasonClusterAccessNotOwned:
		meta.RemoveStatusCondition(p.obj.GetConditions(), ConditionDeletionBlocked)
	}
}

// storedConditions returns the conditions as they were read.
func (p *pass[T, C]) storedConditions() []metav1.Condition { return *p.base.GetConditions() }

// hasReadyCondition reports whether the stored status has Ready.
func (p *pass[T, C]) hasReadyCondition() bool {
	return meta.FindStatusCondition(p.storedConditions(), ServiceProviderConditionReady) != nil
}

// requeue returns the result with the shortest requeue interval.
func (p *pass[T, C]) requeue(o outcome) ctrl.Result {
	result := o.result
	if o.requeueAfter > 0 {
		result.RequeueAfter = o.requeueAfter
	}
	if !o.polled || result.Requeue && result.RequeueAfter == 0 { //nolint:staticcheck // older domains still return Requeue
		// A RequeueAfter would replace it and reset the backoff.
		return result
	}
	result.RequeueAfter = shorter(result.RequeueAfter, shorter(p.pollInterval(), p.untilExpiry()))

	return result
}

// pollInterval returns the poll interval of the configuration with jitter, or zero if polling is disabled.
func (p *pass[T, C]) pollInterval() time.Duration {
	if interval := p.config.PollInterval(); interval > 0 {
		return p.r.jitter(interval)
	}

	return 0
}

// untilExpiry returns the remaining validity of the credentials, which is at least a second. It returns zero if the
// validity is unknown.
func (p *pass[T, C]) untilExpiry() time.Duration {
	if p.credentialsExpire.IsZero() {
		return 0
	}

	return max(p.credentialsExpire.Sub(p.r.clock.Now()), time.Second)
}

// shorter returns the shorter duration. Zero means never.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}

	return min(a, b)
}

// isConflict reports whether err is a conflict of the optimistic lock.
func isConflict(err error) bool { return err != nil && kerrors.IsConflict(err) }

// joinErrors joins two errors. The error before may be nil. errors.Is and errors.As find both errors, so a terminal
// error stays terminal.
func joinErrors(before, more error) error {
	if before == nil {
		return more
	}

	return &joinedErrors{before, more}
}

// joinedErrors joins the error of a pass and the error of its status write.
type joinedErrors struct{ first, second error }

// Error returns the texts of both errors.
func (b *joinedErrors) Error() string { return b.first.Error() + "; " + b.second.Error() }

// Unwrap returns both errors.
func (b *joinedErrors) Unwrap() []error { return []error{b.first, b.second} }

package serviceprovider

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

type eventReason = event.Reason

// Reasons of the events about objects of a service.
const (
	// EventClusterAccessDenied: the platform refuses access to a cluster.
	EventClusterAccessDenied event.Reason = "ClusterAccessDenied"

	// EventClusterAccessMissing: an AccessRequest of an object that is being deleted does not
	// exist any more. Access is asked for anew. If the controller has another name than before, what it has
	// asked for by that name is left on the platform: see clusteraccess.WithFormerNames.
	EventClusterAccessMissing event.Reason = "ClusterAccessMissing"

	// EventServiceOrphaned: access is given back, and then the object goes, without Delete.
	EventServiceOrphaned event.Reason = "ServiceOrphaned"

	// EventDeletionBlocked: a deletion waits for something that does not come by itself.
	EventDeletionBlocked event.Reason = "DeletionBlocked"

	// EventReconciliationPaused: a user wants the object to be left alone.
	EventReconciliationPaused event.Reason = "ReconciliationPaused"
)

// report says in the status, in an event and in a metric how the pass ended, and returns
// when to look again. It is the only place that does so.
func (p *pass[T, C]) report(ctx context.Context, o outcome) (ctrl.Result, error) {
	if p.r.count != nil {
		p.r.count(o.name)
	}
	if p.orphans() {
		p.r.recorder.Event(p.obj, event.Warning(EventServiceOrphaned, errors.New("access is given back without a call of Delete: what was made may be left in the clusters")))
	}
	switch {
	case o.gone:
		p.r.memory.end(p.known)
	case p.facts.Found:
		tell := p.describe(o)
		if err := p.writeStatus(ctx); err != nil {
			o.err = join(o.err, err)
		} else if tell != nil {
			p.r.recorder.Event(p.obj, *tell)
		}
	}
	if conflicts(o.err) {
		// Somebody else was faster, and has made an event of it.
		return ctrl.Result{Requeue: true}, nil //nolint:staticcheck // the only way to try again that is silent and keeps the back-off
	}
	if o.err != nil {
		return ctrl.Result{}, p.mask().Error(o.err)
	}

	return p.requeue(o), nil
}

// describe puts into the object what its status has to say, and returns the event with
// which that begins, if it does.
func (p *pass[T, C]) describe(o outcome) *event.Event {
	if o.paused {
		return p.describePause()
	}
	if c := meta.FindStatusCondition(*p.obj.GetConditions(), ConditionSynced); c != nil && c.Reason == ReasonReconcilePaused {
		condition(p.obj, ConditionSynced, metav1.ConditionTrue, ReasonReconcileSuccess, "")
	}
	message := p.redacted(o.message)
	tell := p.warns(o, message)
	if !o.silent || p.leaves && meta.IsStatusConditionTrue(*p.obj.GetConditions(), ServiceProviderConditionReady) {
		p.setNotReady(o.reason, message)
	}
	if o.access != "" {
		status := metav1.ConditionFalse
		if o.access == ReasonGranted {
			status, message = metav1.ConditionTrue, ""
		}
		condition(p.obj, ConditionClusterAccessReady, status, o.access, message)
	}
	p.describeBlock(o, message)
	p.describeMade()
	p.conceal()

	return tell
}

// describePause says that the object is left alone, and returns the event with which that
// begins.
func (p *pass[T, C]) describePause() *event.Event {
	already := meta.IsStatusConditionFalse(*p.obj.GetConditions(), ConditionSynced)
	condition(p.obj, ConditionSynced, metav1.ConditionFalse, ReasonReconcilePaused, "Reconciliation is paused")
	if already {
		return nil
	}

	return new(event.Normal(EventReconciliationPaused, "the annotation "+p.r.annotation+" says to leave it alone"))
}

// warns returns the warning of an outcome, unless the status has said so before.
func (p *pass[T, C]) warns(o outcome, message string) *event.Event {
	old := meta.FindStatusCondition(p.storedConditions(), ServiceProviderConditionReady)
	if o.warning == "" || old != nil && old.Reason == o.reason {
		return nil
	}

	return new(event.Warning(o.warning, errors.New(message)))
}

// describeMade says whether there may be something in the clusters. A deletion relies on
// it: it is written again if the domain, an older version, a backup or a process that died
// has left it out. The pass that puts the finalizer on the object knows that there is nothing
// before the domain is called, and says so if nothing else does.
func (p *pass[T, C]) describeMade() {
	worked := p.called && !p.facts.Leaving
	left := p.facts.Made && !meta.IsStatusConditionTrue(*p.obj.GetConditions(), ConditionServiceCreated) && !p.presumesUnchecked()
	switch {
	case p.orphans():
		condition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonOrphaned, "")
	case p.leaves && p.facts.Made:
		condition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonDeleted, "")
	case worked || left:
		condition(p.obj, ConditionServiceCreated, metav1.ConditionTrue, ReasonCreated, "")
	case p.facts.Held && !p.heldBefore() && !hasAccessCondition(*p.obj.GetConditions()):
		condition(p.obj, ConditionServiceCreated, metav1.ConditionFalse, ReasonNotCreated, "")
	}
}

// presumesUnchecked reports whether a deletion of which only the finalizer tells that something was made
// has not looked at the requests. That the runtime before gives access back shows in them, and
// counts only as long as there is no record of ours.
func (p *pass[T, C]) presumesUnchecked() bool {
	says := hasAccessCondition(p.storedConditions()) || meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated) != nil

	return p.facts.Leaving && p.facts.Request == passage.Unchecked && !says
}

// orphans reports whether this pass has begun to give access back although something may have
// been made, and Delete has not removed it.
func (p *pass[T, C]) orphans() bool { return p.leaves && p.facts.Made && !p.facts.Cleaned }

// made reports whether there may be something in the clusters. If the status does not say so,
// it says whether there was access when it was written last. If it does not say that either,
// it was lost, or not written: the finalizer comes before the first call of the domain. A service that is
// ready was made, whatever else is said: another runtime leaves our conditions as they are.
func (p *pass[T, C]) made() bool {
	if meta.IsStatusConditionTrue(p.storedConditions(), ServiceProviderConditionReady) {
		return true
	}

	if c := meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated); c != nil {
		return c.Status == metav1.ConditionTrue
	}

	if hasAccessCondition(p.storedConditions()) {
		return meta.IsStatusConditionTrue(p.storedConditions(), ConditionClusterAccessReady)
	}

	return p.heldBefore()
}

// hasServiceCondition reports whether the status says anything of the service, in a condition of ours
// or of the runtime before. If not, that something was made is only presumed.
func (p *pass[T, C]) hasServiceCondition() bool {
	return p.hasReadyCondition() || hasAccessCondition(p.storedConditions()) || meta.FindStatusCondition(p.storedConditions(), ConditionServiceCreated) != nil
}

// recorded reports whether a condition of ours says that something may be in the clusters. This
// runtime takes that back before it gives access back, so that whoever deletes a request meanwhile
// is somebody else.
func (p *pass[T, C]) recorded() bool {
	return meta.IsStatusConditionTrue(p.storedConditions(), ConditionServiceCreated)
}

func hasAccessCondition(conditions []metav1.Condition) bool {
	return meta.FindStatusCondition(conditions, ConditionClusterAccessReady) != nil
}

// setNotReady says in the condition Ready, and in the phase, why the service is not ready.
func (p *pass[T, C]) setNotReady(reason, message string) {
	if p.facts.Leaving {
		StatusTerminatingWithReason(p.obj, reason, message)
	} else {
		StatusProgressing(p.obj, reason, message)
	}
}

// describeBlock says what deletion waits for. A condition of this type that the domain
// has set is left alone.
func (p *pass[T, C]) describeBlock(o outcome, message string) {
	if o.blocked != "" {
		condition(p.obj, ConditionDeletionBlocked, metav1.ConditionTrue, o.blocked, message)

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

// storedConditions returns what the status said when the pass began.
func (p *pass[T, C]) storedConditions() []metav1.Condition { return *p.base.GetConditions() }

// hasReadyCondition reports whether the status has said before how the service is doing.
func (p *pass[T, C]) hasReadyCondition() bool {
	return meta.FindStatusCondition(p.storedConditions(), ServiceProviderConditionReady) != nil
}

// requeue returns when to look again: as soon as anybody wants it.
func (p *pass[T, C]) requeue(o outcome) ctrl.Result {
	result := o.result
	if o.after > 0 {
		result.RequeueAfter = o.after
	}
	if !o.polls || result.Requeue && result.RequeueAfter == 0 { //nolint:staticcheck // domains that were written for it still ask for Requeue
		// A RequeueAfter would take its place, and forget the back-off.
		return result
	}
	result.RequeueAfter = earlier(result.RequeueAfter, earlier(p.poll(), p.expiry()))

	return result
}

// poll returns after which time to look again although nothing has happened, zero for never.
func (p *pass[T, C]) poll() time.Duration {
	if interval := p.config.PollInterval(); interval > 0 {
		return p.r.jittered(interval)
	}

	return 0
}

// expiry returns how long the credentials are still good, a second at least, zero if that is
// not known.
func (p *pass[T, C]) expiry() time.Duration {
	if p.expires.IsZero() {
		return 0
	}

	return max(p.expires.Sub(p.r.clock.Now()), time.Second)
}

// earlier returns the lesser one, zero being never.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}

	return min(a, b)
}

func conflicts(err error) bool { return err != nil && kerrors.IsConflict(err) }

// join adds an error to another, if there is one. Both are kept to be found, so that a
// terminal one stays terminal.
func join(before, more error) error {
	if before == nil {
		return more
	}

	return &joinedErrors{before, more}
}

type joinedErrors struct{ first, second error }

// Error returns both texts.
func (b *joinedErrors) Error() string { return b.first.Error() + "; " + b.second.Error() }

// Unwrap returns both errors.
func (b *joinedErrors) Unwrap() []error { return []error{b.first, b.second} }

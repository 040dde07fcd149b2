package managed

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithSpreadAfterRestart spreads the first reconcile of healthy objects over one poll interval after a start. The
// default is true. An object is healthy if its status has the current generation, Ready, Synced and no known
// difference.
//
// Changes in the external system while no process was running are then corrected up to one poll interval later. A
// change of the spec, a deletion and a new value of moorage.dev/reconcile-requested-at are always handled at once.
func WithSpreadAfterRestart(spread bool) ReconcilerOption {
	return func(r *Reconciler) { r.spread = spread }
}

// priorityFacts returns what is known of the object before any external call.
func (p *object) priorityFacts() lifecycle.PriorityFacts {
	ready, synced := p.read.GetCondition(commonv1.TypeReady), p.read.GetCondition(commonv1.TypeSynced)
	observed := p.generationObserved(p.read)
	s := lifecycle.PriorityFacts{
		Requested: p.userIntent() != p.state.TriedIntent && (!observed || p.requested != "" || meta.WasDeleted(p.mg)),
		Failed:    p.state.Failed || synced.Status == "False",
		Busy:      ready.Reason != "" && ready.Status != "True" || meta.WasDeleted(p.mg),
		Known:     p.state.Known,
	}
	differs := p.read.GetCondition(commonv1.TypeUpToDate).Status == "False"
	s.Healthy = observed && ready.Status == "True" && synced.Status == "True" && !differs && p.policy == nil &&
		!p.r.halted(p.mg)

	return s
}

// recordUserIntent records which requests of the user this pass has handled, whether the pass failed, and whether it
// is retried. A pass that the rate limit of a connection has stopped has not handled them. Its object keeps its
// priority.
func (p *schedule) recordUserIntent(o outcome, failed, again bool) {
	p.state.Stop = objectstate.Stop{}
	if o.unfinished {
		return
	}
	p.state.Failed = failed
	if p.state.TriedIntent = p.userIntent(); p.intentInStatus() {
		p.state.TriedIntent = objectstate.UserIntent{}
	}
	p.nextPriority = o.priority()
	if again {
		p.nextPriority = lifecycle.Retry
	}
}

func (p *object) userIntent() objectstate.UserIntent {
	return objectstate.UserIntent{Generation: p.generation, Deleted: meta.WasDeleted(p.mg), Request: p.requested}
}

// intentInStatus reports whether the status shows that all requests of the user were handled, so that they need not
// be remembered.
func (p *object) intentInStatus() bool {
	return p.generationObserved(p.newest) && p.request(p.newest) == "" && !meta.WasDeleted(p.mg)
}

// generationObserved reports whether the object, as read or answered, says that the generation of this pass was
// observed.
func (p *object) generationObserved(mg resource.Managed) bool {
	if g, ok := mg.(resource.GenerationObserver); ok && g.GetObservedGeneration() != p.generation {
		return false
	}
	synced := mg.GetCondition(commonv1.TypeSynced)

	switch synced.Reason {
	case "", commonv1.ReasonThrottled, commonv1.ReasonUnauthorized, commonv1.ReasonExternalSystemUnavailable:
		return false // the user's request was not handled
	default:
		return synced.ObservedGeneration == p.generation
	}
}

// priority returns the priority of the next pass, given the outcome of this one.
func (o outcome) priority() lifecycle.Priority {
	switch o.requeue {
	case never, poll, resync:
		return lifecycle.Poll
	default:
		return lifecycle.Progress
	}
}

// priorities maps the priorities of passes to those of the queue.
var priorities = map[lifecycle.Priority]int{
	lifecycle.User:     controller.PriorityUser,
	lifecycle.Progress: controller.PriorityInProgress,
	lifecycle.Retry:    controller.PriorityErrorRetry,
	lifecycle.Poll:     controller.PriorityPoll,
}

// queuePriority returns the queue priority of the next pass.
func (p *schedule) queuePriority() *int { return new(priorities[p.nextPriority]) }

// recordMissing reports whether a replace has removed the record of the creation, or the finalizer of an object that
// may be created and deleted. Their restoration cannot wait.
func (p *schedule) recordMissing() bool {
	if p.restored || p.r.finalizer != nil || meta.FinalizerExists(p.mg, FinalizerName) {
		return p.restored
	}
	may := p.r.permissions(p.mg)

	return may.Create && may.Delete
}

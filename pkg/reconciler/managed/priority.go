package managed

import (
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithSpreadAfterRestart sets whether a process that begins looks at objects that
// are well (their spec observed, Ready, Synced and not known to differ) at random
// moments within their poll interval, rather than at all of them at once. The default
// is true. What others changed outside while no process was there is so corrected one
// poll interval later at most; a change of the spec, a deletion and a new value of
// moorage.dev/reconcile-requested-at are acted on at once in any case.
func WithSpreadAfterRestart(spread bool) ReconcilerOption {
	return func(r *Reconciler) { r.spread = spread }
}

// Priorities in the queue.
var priorities = map[lifecycle.Priority]int{
	lifecycle.User:     controller.PriorityUser,
	lifecycle.Progress: controller.PriorityInProgress,
	lifecycle.Retry:    controller.PriorityErrorRetry,
	lifecycle.Poll:     controller.PriorityPoll,
}

// queuePriority is that of the next pass.
func (p *schedule) queuePriority() *int { return new(priorities[p.nextPriority]) }

// priority returns how urgent the next pass is, given how this one ended.
func (o outcome) priority() lifecycle.Priority {
	switch o.requeue {
	case never, poll, resync:
		return lifecycle.Poll
	default:
		return lifecycle.Progress
	}
}

// priorityFacts returns what is known of the object before anything is asked outside.
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

func (p *object) userIntent() objectstate.UserIntent {
	return objectstate.UserIntent{Generation: p.generation, Deleted: meta.WasDeleted(p.mg), Request: p.requested}
}

// generationObserved says whether the object, as it was read or answered, says that the
// spec was looked at on which this pass works.
func (p *object) generationObserved(mg resource.Managed) bool {
	if g, ok := mg.(resource.GenerationObserver); ok && g.GetObservedGeneration() != p.generation {
		return false
	}
	synced := mg.GetCondition(commonv1.TypeSynced)

	switch synced.Reason {
	case "", commonv1.ReasonThrottled, commonv1.ReasonUnauthorized, commonv1.ReasonExternalSystemUnavailable:
		return false // what the user asked for was not tried
	default:
		return synced.ObservedGeneration == p.generation
	}
}

// recordIntent notes what this pass tried of what a user asked for, whether it failed, and
// whether that is tried again by itself. What was stopped by a connection was not
// tried, and goes on with the urgency it had.
func (p *schedule) recordIntent(o outcome, failed, again bool) {
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

// intentInStatus says whether the object itself tells by now that nothing is asked of it which
// was not tried, so that nobody has to remember.
func (p *object) intentInStatus() bool {
	return p.generationObserved(p.newest) && request(p.newest) == "" && !meta.WasDeleted(p.mg)
}

// deferPass puts the first look at an object that is well off to a random moment of
// its poll interval, or to when others meet at a list. Nothing is asked, and nothing
// written.
func (p *schedule) deferPass() next {
	p.outcomeLabel, p.nextPriority = "postponed", lifecycle.Poll
	after := time.Duration(p.r.random() * float64(p.interval()))
	if p.r.bulk {
		p.joinList(connectionName(p.mg), "")
		if at, ok := p.r.lists.AlignPoll(connectionName(p.mg), p.now(), p.now().Add(p.interval()), 0,
			p.r.random()); ok {
			after = at.Sub(p.now())
		}
	}

	return next{after: max(after, time.Millisecond), priority: p.queuePriority()}
}

// heldByOthers says whether a replace has taken what the object is kept by: the record of its creation,
// or the finalizer of one that may be created and deleted. To put that back cannot wait.
func (p *schedule) heldByOthers() bool {
	if p.restored || p.r.finalizer != nil || meta.FinalizerExists(p.mg, FinalizerName) {
		return p.restored
	}
	may := p.r.permissions(p.mg)

	return may.Create && may.Delete
}

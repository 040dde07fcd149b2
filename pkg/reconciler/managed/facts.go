package managed

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// facts returns what is known at this moment, as plain values. It changes nothing. Before an observation it returns
// only those facts that need none: the others take as long as an observation from memory.
func (p *pass) facts() lifecycle.Facts {
	f := lifecycle.Facts{
		Paused:       p.r.halted(p.mg),
		Invalid:      p.policy != nil,
		Deleted:      meta.WasDeleted(p.mg),
		HasFinalizer: p.hasFinalizer(),
	}
	if p.observed {
		p.addObserved(&f)
	}
	if f.NeedsPermission() {
		f.May = p.may()
	}

	return f
}

// addObserved adds the facts that matter once something was observed.
func (p *pass) addObserved(f *lifecycle.Facts) {
	if f.Presence = lifecycle.Absent; p.observation.ResourceExists {
		f.Presence = lifecycle.Present
	}
	if p.listed {
		f.Presence = lifecycle.Listed
	}
	f.UpToDate = p.observation.ResourceUpToDate
	f.ForeignFinalizers = len(p.foreignFinalizers()) > 0
	f.Class = p.class()
	f.NameKnown = meta.GetExternalName(p.mg) != ""
	f.Doubt = p.doubt()
	lost := p.unresolved()
	f.Attempt = p.attempt(lost)
	f.DeleteSent = p.deleteSent()
	if p.notOwned() {
		f.Ownership = lifecycle.Foreign
	}
	f.SettlesCreate = lost && !p.claimed && p.settlesCreate()
	f.Dirty = f.SettlesCreate || !p.claimed && (p.learned() || p.adopts())
	f.Unpublished = p.detailsPending
	f.Mutated = p.mutated
}

// doubt returns why an absence, or a foreign owner, is not certain.
func (p *pass) doubt() lifecycle.Doubt {
	settling, unconfirmed := p.creationGrace() > 0 && !p.observation.ResourceExists, p.notFoundGrace() > 0
	switch {
	case settling:
		return lifecycle.Grace
	case unconfirmed:
		return lifecycle.Unconfirmed
	default:
		return lifecycle.NoDoubt
	}
}

// settlesCreate says whether an observation has shown the result of a create whose response was lost.
func (p *pass) settlesCreate() bool {
	return !p.r.named && p.observed && p.observation.ResourceExists && p.unresolved()
}

// attempt returns the state of the last attempt to create. lost says whether its result is unknown.
func (p *search) attempt(lost bool) lifecycle.Attempt {
	switch {
	case p.superseded() != "":
		return lifecycle.Superseded
	case p.recoveryNegative || abandoned(p.mg):
		return lifecycle.Settled
	case lost:
		return lifecycle.Unknown
	case p.createdUnobserved():
		return lifecycle.CreatedUnobserved
	case p.replaced():
		return lifecycle.Replaced
	default:
		return lifecycle.Settled
	}
}

// deleteSent says whether a delete was sent so recently that it is not sent again.
func (p *creationRecord) deleteSent() bool {
	sent := p.state.DeleteSent

	return !sent.IsZero() && p.now().Sub(sent) < p.r.pollInterval
}

// createdUnobserved says whether a creation succeeded and its result was never observed: neither by this process nor,
// as the status says, by an earlier one.
func (p *creationRecord) createdUnobserved() bool {
	if p.r.named {
		return p.state.Creation == createdHere && p.state.Seen == objectstate.CreationRef{}
	}
	this := creation(p.mg, p.mg)
	if this.Mark == "" || p.state.Seen == this {
		return false
	}
	_, observed := p.observedInStatus(this)

	return !observed
}

// trackDoubts notes since when an absence is known that may be wrong, and since when a creation. It is called after
// each observation, before the facts are gathered: those change nothing.
func (p *pass) trackDoubts() {
	p.trackCreation()
	if p.listed { // a list says nothing of an absence, nor of another owner
		return
	}
	if p.observation.ResourceExists && p.ownerChanged() || !p.observation.ResourceExists && p.unexpectedAbsence() {
		p.recordNotFound()
	}
}

// trackCreation notes since when the creation is known whose grace period is running.
func (p *clientSession) trackCreation() {
	if mark := p.creationMark(); mark != p.state.Creation {
		p.state.Creation, p.state.Since = mark, p.r.at(p.now())
	}
}

// creationMark returns the creation whose grace period is running, if there is one. Where names are chosen, a finalizer
// without a record means created here, maybe just before this process began, if nothing was found.
func (p *clientSession) creationMark() string {
	maybeCreated := meta.WasDeleted(p.mg) && !p.observation.ResourceExists && p.hasFinalizer() &&
		p.state.Seen == objectstate.CreationRef{}
	if p.r.named && (p.state.Creation == createdHere || maybeCreated) {
		return createdHere
	}

	return created(p.mg)
}

// creationGrace returns how much is left of the time during which a resource that was created may not show. A creation
// that is not tracked yet begins now.
func (p *clientSession) creationGrace() time.Duration {
	mark, since := p.creationMark(), p.r.time(p.state.Since)
	if mark == "" {
		return 0
	}
	if mark != p.state.Creation {
		since = p.now()
	}
	window := p.r.grace
	if p.class() != lifecycle.Findable { // there it is looked up
		window += p.patience()
	}

	return max(window-p.now().Sub(since), 0)
}

// hasFinalizer says whether our finalizer keeps the object. The name of an author's own finalizer is unknown: the
// author's code adds it once in each pass over a live object, and it is assumed to keep a deleted one as long as it
// was not removed and there is a finalizer that may be it. So is a deleted object without any finalizer, which only
// exists in tests.
func (p *object) hasFinalizer() bool {
	deleted := meta.WasDeleted(p.mg)
	if p.r.finalizer != nil && !deleted {
		return p.finalizerAdded
	}
	if p.r.finalizer != nil && slices.ContainsFunc(p.mg.GetFinalizers(),
		func(name string) bool { return !p.r.ignoredFinalizers[name] }) {
		return !p.state.FinalizerRemoved
	}

	return meta.FinalizerExists(p.mg, FinalizerName) ||
		deleted && (len(p.mg.GetFinalizers()) == 0 || p.r.retired.on(p.mg))
}

// foreignFinalizers returns the finalizers of others that have to be removed before the external resource is deleted.
func (p *object) foreignFinalizers() []string {
	if !meta.WasDeleted(p.mg) {
		return nil
	}
	var others []string
	for _, name := range p.mg.GetFinalizers() {
		if name != FinalizerName && !p.r.ignoredFinalizers[name] {
			others = append(others, name)
		}
	}
	ours := meta.FinalizerExists(p.mg, FinalizerName)
	if p.r.finalizer != nil && !ours && len(others) == 1 {
		return nil // it is the author's own, whose name is unknown
	}

	return others
}

// createdHere stands for a creation by this process that needs no record.
const createdHere = "by this process"

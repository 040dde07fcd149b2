package managed

import (
	"slices"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// facts returns the current facts as plain values, and those for the decision whether the object is reconciled. It
// changes nothing. Before an observation it returns only the facts that need none, because the others cost time and do
// not matter yet.
func (p *pass) facts() (lifecycle.Facts, lifecycle.AdmitFacts) {
	var f lifecycle.Facts
	a := p.admitFacts()
	switch {
	case a.Deleted:
		f.Object = lifecycle.Deleted
	case a.HasFinalizer:
		f.Object = lifecycle.HasFinalizer
	}
	if p.unlisted != 0 {
		f.Presence = lifecycle.ListIncomplete
	}
	if p.observed {
		p.addObserved(&f)
	}
	if needs := f.NeedsPermission(); needs || a.Deleted {
		may := p.may()
		a.MayDelete = a.Deleted && may.Delete
		f.MayCreate, f.MayUpdate = needs && may.Create, needs && may.Update
	}

	return f, a
}

// admitFacts returns the facts for the decision whether the object is reconciled, without the permissions.
func (p *object) admitFacts() lifecycle.AdmitFacts {
	return lifecycle.AdmitFacts{
		Reading:      lifecycle.Found,
		Paused:       p.r.halted(p.mg),
		Invalid:      p.policy != nil,
		Deleted:      meta.WasDeleted(p.mg),
		HasFinalizer: p.hasFinalizer(),
	}
}

// hasFinalizer reports whether our finalizer keeps the object. The name of an author's own finalizer is unknown. The
// author's code adds it in each pass over an object that is not being deleted. An object that is being deleted counts
// as kept by it, unless it was removed or no finalizer is left that may be it. A deleted object without any finalizer
// also counts as kept, but exists only in tests.
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
	f.Class = p.createClass()
	f.NameKnown = meta.GetExternalName(p.mg) != ""
	f.Doubt = p.doubt()
	unresolved := p.unresolved()
	f.Attempt = p.attempt(unresolved)
	f.Change = p.change()
	if p.notOwned() {
		f.Ownership = lifecycle.Foreign
	}
	f.Metadata = p.metadata(unresolved)
	f.Unpublished = p.detailsPending
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

// doubt returns why an absence, or a foreign owner, is not certain.
func (p *pass) doubt() lifecycle.Doubt {
	inGrace, unconfirmed := p.creationGrace() > 0 && !p.observation.ResourceExists, p.notFoundGrace() > 0
	switch {
	case inGrace:
		return lifecycle.Grace
	case unconfirmed:
		return lifecycle.Unconfirmed
	default:
		return lifecycle.NoDoubt
	}
}

// attempt returns the state of the last attempt to create.
func (p *recovery) attempt(unresolved bool) lifecycle.Attempt {
	switch {
	case p.superseded() != "":
		return lifecycle.Superseded
	case p.recoveryNegative || attempt.Abandoned(p.mg):
		return lifecycle.Settled
	case unresolved:
		return lifecycle.Unknown
	case p.createdUnobserved():
		return lifecycle.CreatedUnobserved
	case p.replaced():
		return lifecycle.Replaced
	default:
		return lifecycle.Settled
	}
}

// createdUnobserved reports whether a creation succeeded and its result was never observed. The status shows whether
// an earlier process has observed it.
func (p *creationRecord) createdUnobserved() bool {
	if p.r.named {
		return p.state.Creation == createdHere && p.state.Seen == objectstate.CreationRef{}
	}
	this := attempt.Creation(p.mg, p.mg)
	if this.Mark == "" || p.state.Seen == this {
		return false
	}
	_, observed := p.observedInStatus(this)

	return !observed
}

// change returns the last change of the external system.
func (p *creationRecord) change() lifecycle.Change {
	switch {
	case p.mutated:
		return lifecycle.Mutated
	case p.deleteSent():
		return lifecycle.DeleteSent
	default:
		return lifecycle.NoChange
	}
}

// deleteSent reports whether a delete was sent so recently that it is not sent again.
func (p *creationRecord) deleteSent() bool {
	sent := p.state.DeleteSent

	return !sent.IsZero() && p.now().Sub(sent) < p.r.pollInterval
}

// metadata returns whether the observation has found metadata that the object does not have. After the pass has
// claimed the resource, it leaves further metadata to the next pass.
func (p *pass) metadata(unresolved bool) lifecycle.Metadata {
	switch {
	case p.claimed:
		return lifecycle.Stored
	case unresolved && p.settlesCreate():
		return lifecycle.SettlesCreate
	case p.learned() || p.adopts():
		return lifecycle.Dirty
	default:
		return lifecycle.Stored
	}
}

// settlesCreate reports whether an observation has shown the result of a create whose response was lost.
func (p *pass) settlesCreate() bool {
	return !p.r.named && p.observed && p.observation.ResourceExists && p.unresolved()
}

// createdHere marks a creation by this process that needs no record.
const createdHere = "by this process"

// may returns the permissions of the object. Delete is not allowed if a guard retains the external resource. Create
// is not allowed while a recreation waits for the request of a user.
func (p *creationRecord) may() lifecycle.Permissions {
	may := p.r.permissions(p.mg)
	may.Delete = may.Delete && !p.retained
	may.Create = may.Create && !p.awaitsRequest()

	return may
}

// trackDoubts records since when an uncertain absence is known, and since when a creation is known. It is called
// after each observation, before the facts are gathered, because facts must not change anything.
func (p *pass) trackDoubts() {
	p.trackCreation()
	if p.listed { // a list says nothing of an absence, nor of another owner
		return
	}
	if p.observation.ResourceExists && p.ownerChanged() || !p.observation.ResourceExists && p.unexpectedAbsence() {
		p.recordNotFound()
	}
}

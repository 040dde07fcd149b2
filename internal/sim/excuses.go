package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An exemption excuses a violation after a kind of fault, for one attempt to create the resource of one object. It
// excuses nothing for other objects or other attempts.
type exemption struct {
	kind    Kind
	of      types.UID
	attempt string // its id; empty where names are chosen
	name    string // the external name that the object had then
}

// An exemptions is a set of exemptions, with whether each has excused something.
type exemptions map[exemption]bool

// forget removes the exemptions of the current attempt of an object.
func (es exemptions) forget(mg resource.Managed) {
	maps.DeleteFunc(es, func(e exemption, _ bool) bool { return e.of == mg.GetUID() && e.attempt == attemptOf(mg) })
}

// about returns whether an object has any exemptions.
func (es exemptions) about(of types.UID) bool {
	for e := range es {
		if e.of == of {
			return true
		}
	}

	return false
}

// current returns whether the current attempt of one of the objects has any exemptions.
func (es exemptions) current(objects []resource.Managed) bool {
	for e := range es {
		if slices.ContainsFunc(objects,
			func(mg resource.Managed) bool { return mg.GetUID() == e.of && attemptOf(mg) == e.attempt }) {
			return true
		}
	}

	return false
}

// loses records that a fault may lose the answer of the Create in progress: either the call is not answered, or another
// process becomes the leader.
func (w *World) loses(p *process, o Operation, f Fault) {
	switch f.Kind { //nolint:exhaustive // nothing else takes anything away from a process that lives
	case LeaseLost:
		w.losesAll(f.Kind)
	case Hang, HangAfter, Lost, Deaf, DeafAfter:
		if o.Name == "patch" {
			for _, mg := range w.users.all() {
				if attempting(mg) {
					p.known.unanswered.add(f.Kind, mg)
				}
			}
		}
	}
	if o.Name == "Create" && w.mayBlock(f.Kind) {
		w.exempt.lost.add(f.Kind, o.mg)
	}
}

// triesToStore is the minimum time for which a stopping process tries to store the result of Create.
const triesToStore = 20 * time.Second

// losesAtEnd records what is lost when a process ends. If the process was only asked to stop during an external call,
// nothing is lost, because it stores the result first. But an outage or an unanswered write may last longer than all
// tries. After an unanswered write of an intent to create, no later process can know that Create was not called.
func (w *World) losesAtEnd(p *process, by Kind) {
	switch {
	case by != graceful:
		w.losesAll(by)
	case p.ending.asked.Before(w.effects.apiBack) && w.now().Sub(p.ending.asked) >= triesToStore:
		w.losesAll(Outage)
	default:
		maps.Copy(w.exempt.lost, p.known.unanswered)
	}
}

// losesAll records that a process ends or another one becomes the leader. The attempts without a stored result are then
// no longer known.
func (w *World) losesAll(kind Kind) {
	for _, mg := range w.users.all() {
		if s, stripped := w.undone.strips[mg.GetUID()]; stripped && !s.read && recordOf(mg) == s.given {
			mg = s.before // what a replace took away
		}
		if attempting(mg) {
			w.exempt.lost.add(kind, mg)
		}
	}
}

// answerLost returns whether the result of the last attempt for an object was lost. The object may then be blocked.
func (w *World) answerLost(mg resource.Managed) bool {
	marked := attemptOf(mg)
	if s, stripped := w.undone.strips[mg.GetUID()]; stripped && recordOf(mg) == s.given && recordOf(s.before) != "" {
		marked = attemptOf(s.before)
	}

	of := func(e exemption) bool { return e.attempt == marked }

	return w.exempt.lost.excuses(mg.GetUID(), of) || w.exempt.unlocked.excuses(mg.GetUID(), of)
}

// readsLate records that processes may read the changes of users late.
func (w *World) readsLate(f Fault) {
	if slices.Contains([]Kind{Stale, Freeze, LeaseLost, Outage}, f.Kind) {
		for _, mg := range w.users.all() {
			w.exempt.stale.add(f.Kind, mg)
		}
	}
}

// add adds an exemption for the current attempt of an object.
func (es exemptions) add(kind Kind, mg resource.Managed) {
	e := exemption{kind, mg.GetUID(), attemptOf(mg), externalName(mg)}
	if _, known := es[e]; !known {
		es[e] = false
	}
}

// readLate returns whether a pass began before its process had read the last change of users to an object, because of a
// fault.
func (w *World) readLate(p *process, mg resource.Managed) bool {
	at, wrote := w.users.wrote[mg.GetUID()]

	return wrote && p.shown <= at && w.exempt.stale.excuses(mg.GetUID(), anyExemption)
}

// traced returns whether the resource of an attempt is found without any record of the attempt. In a class that can
// search, every process knows the first attempt of an object that is older than the process. There are two exceptions:
// a process whose clock was set back may take the object for a younger one, and a user who names another resource
// requests that resource.
func (w *World) traced(mg resource.Managed) bool {
	uid, attempt := mg.GetUID(), attemptOf(mg)
	finds := w.system != nil && w.system.class.finds > 0

	return finds && !w.plan.setsClockBack && !w.users.adopted[uid] && attempt != "" && attempt == w.firstAttempt(uid)
}

// firstAttempt returns the id of the first attempt for an object.
func (w *World) firstAttempt(of types.UID) string {
	for _, c := range w.server.Changes(0) {
		if mg := asManaged(c.Object); mg != nil && c.Object.GetUID() == of && attemptOf(mg) != "" {
			return attemptOf(mg)
		}
	}

	return ""
}

// excusedKinds returns the kinds of faults that excused a violation in this run.
func (w *World) excusedKinds() []Kind {
	for p := range w.exempt.surplus {
		if w.gone[p.of] && !w.mayStay(p.of) {
			w.unexcused(p.of)
		}
	}
	kinds := slices.Concat(w.exempt.surplus.used(), w.exempt.misled.used(), w.exempt.unlocked.used(),
		w.exempt.undeleted.used())
	slices.Sort(kinds)

	return slices.DeleteFunc(slices.Compact(kinds), func(k Kind) bool { return k == Lost }) // which are counted apart
}

// mayStay returns whether users allowed that the resource of an object stays when the object is removed.
func (w *World) mayStay(of types.UID) bool {
	return w.users.left[of] || w.users.released[of] || w.exempt.freed.excuses(of, anyExemption)
}

// anyExemption is fulfilled by every exemption.
func anyExemption(exemption) bool { return true }

// unexcused returns the resources of an object that no exemption excuses.
func (w *World) unexcused(of types.UID) []string {
	return slices.DeleteFunc(w.external.Of(of), func(id string) bool {
		made, known := w.madeBy(id)

		return w.exempt.surplus.excuses(of, func(e exemption) bool { return !known || e.attempt == made || e.name == id })
	})
}

// madeBy returns the attempt that created a resource. known is false for an external system outside this package.
func (w *World) madeBy(id string) (attempt string, known bool) {
	if w.system == nil {
		return "", false
	}
	p := w.system.find(id)
	if p == nil {
		return "", false
	}

	return strings.TrimPrefix(p.Token, string(p.For)+"-"), true
}

// excuses returns whether an object has an exemption that fulfills the condition. It records that these exemptions have
// excused something.
func (es exemptions) excuses(of types.UID, is func(exemption) bool) bool {
	found := false
	for e := range es {
		if e.of == of && is(e) {
			found, es[e] = true, true
		}
	}

	return found
}

// used returns the kinds of faults whose exemptions have excused something, each once and in order.
func (es exemptions) used() (kinds []Kind) {
	for e, used := range es {
		if used {
			kinds = append(kinds, e.kind)
		}
	}
	slices.Sort(kinds)

	return slices.Compact(kinds)
}

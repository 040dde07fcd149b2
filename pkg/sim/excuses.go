package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An exemption is what excuses a judge: a kind of fault, in what became of one attempt to create the resource
// of one object. Nothing of it excuses what becomes of another object, or of another attempt.
type exemption struct {
	kind    Kind
	of      types.UID
	attempt string // its id; empty where names are chosen
	name    string // the external name that the object had then
}

// Exemptions are what may excuse a judge, and whether it did.
type exemptions map[exemption]bool

// add notes what a fault has done to the attempt that an object is marked with.
func (es exemptions) add(kind Kind, mg resource.Managed) {
	e := exemption{kind, mg.GetUID(), attemptOf(mg), externalName(mg)}
	if _, known := es[e]; !known {
		es[e] = false
	}
}

// forget what was noted of the attempt that an object is marked with.
func (es exemptions) forget(mg resource.Managed) {
	maps.DeleteFunc(es, func(e exemption, _ bool) bool { return e.of == mg.GetUID() && e.attempt == attemptOf(mg) })
}

// about says whether there are any about an object.
func (es exemptions) about(of types.UID) bool {
	for e := range es {
		if e.of == of {
			return true
		}
	}

	return false
}

// excuses says whether there are any about an object of which something is the case, and notes that
// they have excused something.
func (es exemptions) excuses(of types.UID, is func(exemption) bool) bool {
	found := false
	for e := range es {
		if e.of == of && is(e) {
			found, es[e] = true, true
		}
	}

	return found
}

// now says whether there are any about the attempt that one of some objects is marked with.
func (es exemptions) now(objects []resource.Managed) bool {
	for e := range es {
		if slices.ContainsFunc(objects, func(mg resource.Managed) bool { return mg.GetUID() == e.of && attemptOf(mg) == e.attempt }) {
			return true
		}
	}

	return false
}

// used returns the kinds of faults that have excused something, each once and in order.
func (es exemptions) used() (kinds []Kind) {
	for e, used := range es {
		if used {
			kinds = append(kinds, e.kind)
		}
	}
	slices.Sort(kinds)

	return slices.Compact(kinds)
}

// whatever says yes to every exemption.
func whatever(exemption) bool { return true }

// loses notes that a fault may take away what the Create that is under way answers: it is not answered,
// or another process takes over.
func (w *World) loses(p *process, o operation, f Fault) {
	switch f.Kind { //nolint:exhaustive // nothing else takes anything away from a process that lives
	case Usurp:
		w.losesAll(f.Kind)
	case Hang, HangAfter, Lost, Deaf, DeafAfter:
		if o.name == "patch" {
			for _, mg := range w.users.all() {
				if attempting(mg) {
					p.unanswered.add(f.Kind, mg)
				}
			}
		}
	}
	if o.name == "Create" && w.mayBlock(f.Kind) {
		w.lost.add(f.Kind, o.mg)
	}
}

// How long a process that is to stop tries to store what Create answered, at least.
const triesToStore = 20 * time.Second

// losesAtEnd notes what is lost when a process ends. Nothing is if it was only asked to stop, and a call
// outside was under way: what that answers is stored before. But outages may outlast all tries, and so may
// a write that is not answered; and of an intent that was not answered nobody knows after this process that
// Create was not called.
func (w *World) losesAtEnd(p *process, by Kind) {
	switch {
	case by != graceful:
		w.losesAll(by)
	case p.asked.Before(w.apiBack) && w.now().Sub(p.asked) >= triesToStore:
		w.losesAll(Outage)
	default:
		maps.Copy(w.lost, p.unanswered)
	}
}

// losesAll notes that a process ends, or another takes over: of attempts of which no result is written
// nobody knows it then.
func (w *World) losesAll(kind Kind) {
	for _, mg := range w.users.all() {
		if s, stripped := w.strips[mg.GetUID()]; stripped && !s.read && recordOf(mg) == s.given {
			mg = s.before // what a replace took away
		}
		if attempting(mg) {
			w.lost.add(kind, mg)
		}
	}
}

// answerLost says whether the result of the last attempt for an object was lost, so that it may be blocked.
func (w *World) answerLost(mg resource.Managed) bool {
	marked := attemptOf(mg)
	if s, stripped := w.strips[mg.GetUID()]; stripped && recordOf(mg) == s.given && recordOf(s.before) != "" {
		marked = attemptOf(s.before)
	}

	of := func(e exemption) bool { return e.attempt == marked }

	return w.lost.excuses(mg.GetUID(), of) || w.unlocked.excuses(mg.GetUID(), of)
}

// mayStay says whether what was made for an object may stay when it goes, because users said so.
func (w *World) mayStay(of types.UID) bool {
	return w.users.left[of] || w.users.released[of] || w.freed.excuses(of, whatever)
}

// readsLate notes that processes may not read for a while what users do to objects.
func (w *World) readsLate(f Fault) {
	if slices.Contains([]Kind{Stale, Freeze, Usurp, Outage}, f.Kind) {
		for _, mg := range w.users.all() {
			w.stale.add(f.Kind, mg)
		}
	}
}

// readLate says whether a pass began when its process had not read what users wrote last of an object, because of a
// fault.
func (w *World) readLate(p *process, mg resource.Managed) bool {
	at, wrote := w.users.wrote[mg.GetUID()]

	return wrote && p.shown <= at && w.stale.excuses(mg.GetUID(), whatever)
}

// unexcused returns what exists of an object's, but for what the attempts made that faults have taken
// from it, and for what it had when they did.
func (w *World) unexcused(of types.UID) []string {
	return slices.DeleteFunc(w.outside.Of(of), func(id string) bool {
		made, known := w.madeBy(id)

		return w.exemptions.excuses(of, func(e exemption) bool { return !known || e.attempt == made || e.name == id })
	})
}

// traced says whether what an attempt made is found without any record of it: where it can be looked for, every
// process knows the first attempt of an object that is older than itself. One whose clock was set back may take the
// object for younger; and who names another resource asks for that.
func (w *World) traced(mg resource.Managed) bool {
	uid, attempt := mg.GetUID(), attemptOf(mg)
	finds := w.harbour != nil && w.harbour.class.finds > 0

	return finds && !w.backward && !w.users.adopted[uid] && attempt != "" && attempt == w.firstAttempt(uid)
}

// firstAttempt returns the id of the attempt that an object was marked with first.
func (w *World) firstAttempt(of types.UID) string {
	for _, c := range w.server.Changes(0) {
		if mg := asManaged(c.Object); mg != nil && c.Object.GetUID() == of && attemptOf(mg) != "" {
			return attemptOf(mg)
		}
	}

	return ""
}

// madeBy returns the attempt that made a resource, as far as the harbour tells: what clients of others
// work with is not known.
func (w *World) madeBy(id string) (attempt string, known bool) {
	if w.harbour == nil {
		return "", false
	}
	p := w.harbour.at(id)
	if p == nil {
		return "", false
	}

	return strings.TrimPrefix(p.Token, string(p.For)+"-"), true
}

// excusedKinds returns the kinds of faults that excused what would have been a violation otherwise.
func (w *World) excusedKinds() []Kind {
	for p := range w.exemptions {
		if w.gone[p.of] && !w.mayStay(p.of) {
			w.unexcused(p.of)
		}
	}
	kinds := slices.Concat(w.exemptions.used(), w.misled.used(), w.unlocked.used(), w.undeleted.used())
	slices.Sort(kinds)

	return slices.DeleteFunc(slices.Compact(kinds), func(k Kind) bool { return k == Lost }) // which are counted apart
}

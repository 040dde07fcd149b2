package sim

import (
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	// patience is the time after the last fault within which everything has to reach the desired state.
	patience = time.Hour
	// operatorInterval is the interval at which operators resolve blocked objects.
	operatorInterval = 12 * time.Minute
)

// settle lets time pass until every object is in the desired state. An operator, who can see the external system,
// resolves blocked objects.
func (w *World) settle() {
	defer func() { w.script.diverged = true }()
	if !w.script.resting {
		w.script.phase++
	}
	w.guided.settling = w.now()
	until := w.now().Add(patience)
	for (w.now().Before(until) || w.hooks.patient()) && !w.over {
		if w.run(w.now().Add(operatorInterval), w.settled) {
			return
		}
		for _, mg := range w.users.all() {
			if blocked(mg) {
				w.resolveBlocked(mg)
			}
		}
	}
	for _, mg := range w.users.all() {
		if why := w.missing(mg); why != "" {
			property := "L1"
			if isDeleted(mg) {
				property = "L2"
			}
			w.violate(property, fmt.Sprintf("%s %s: %s", mg.GetName(), mg.GetUID(), why))
		}
	}
	if leaks := w.leaks(); len(leaks) > 0 {
		w.violate("L2", fmt.Sprintf("left over: %v", leaks))
	}
}

// settled returns whether nothing is left to do.
func (w *World) settled() bool {
	if len(w.events) > 0 || w.now().Before(w.effects.apiBack) || w.now().Before(w.effects.externalBack) ||
		w.now().Before(w.effects.refuses) ||
		w.now().Before(w.effects.denies) || w.now().Before(w.effects.drops) {
		return false
	}
	alive := w.alive()
	if len(alive) != 1 || alive[0].restored.outdated || !w.now().After(alive[0].cache.frozen) {
		return false
	}
	if _, coming := alive[0].nextEvent(); coming {
		return false // it has not heard of everything yet
	}
	for _, mg := range w.users.all() {
		if w.missing(mg) != "" || w.unread(mg) {
			return false
		}
	}

	return len(w.leaks()) == 0
}

// missing returns the first difference of an object from its desired state, or nothing.
func (w *World) missing(mg resource.Managed) string {
	if w.script.expect != nil {
		// what users wrote last may be undone
		if why, decided := w.script.expect(mg); decided && (why == "" || !w.undone.writes) {
			return why
		}
	}
	if isDeleted(mg) && !(isPaused(mg) && w.undone.writes) { // the end of the pause may be undone
		return "it is deleted, and still there"
	}
	if isPaused(mg) {
		return ""
	}
	if w.undone.writes && !allows(mg, toUpdate) {
		return "" // nor is what is outside to be as asked for
	}
	if w.leftBehind(mg) && w.external.Traits().Stamped &&
		conditionOf(mg, "Synced").Reason != "ExternalResourceNotOwned" {
		return "it does not say that its resource is that of an object which was not restored"
	}
	if (w.displaced(mg) || w.leftBehind(mg)) && conditionOf(mg, "Synced").Reason == "ExternalResourceNotOwned" {
		return ""
	}
	if why := w.external.Lacks(mg); why != "" {
		return why
	}
	if why := w.unrestored(mg); why != "" {
		return why
	}
	observed, tells := observedGeneration(mg)
	said := conditionsOf(mg)
	switch ready, synced, reconciling := said.of("Ready"), said.of("Synced"), said.of("Reconciling"); {
	case ready.Status != "True":
		return "it is not ready" + whyNotReady(ready, synced)
	case synced.Status != "True":
		return "it is not synced: " + synced.Message
	case tells && observed != mg.GetGeneration():
		return fmt.Sprintf("generation %d was observed instead of %d", observed, mg.GetGeneration())
	case reconciling.Status == "True":
		return "its condition Reconciling is still True" + explainCondition(reconciling)
	case said.of("UpToDate").Status == "True" && showsDrift(mg):
		return "its status still shows differences, although its condition UpToDate is True"
	}

	return ""
}

// resolveBlocked resolves a blocked object as the documentation says.
func (w *World) resolveBlocked(mg resource.Managed) {
	w.blocked++
	if !w.external.Traits().Blocks && !w.takenAway(mg) && !inherits(mg) && !supersedes(mg) { // or a user gave the name
		w.violate("L3", fmt.Sprintf("%s is blocked, although its class can be recovered", mg.GetName()))
	}
	if externalName(mg) == "" && !w.answerLost(mg) && !inherits(mg) {
		w.violate("S2", fmt.Sprintf("%s is blocked, although no fault lost the answer of Create", mg.GetName()))
	}
	live := w.external.Of(mg.GetUID())
	key, uid := keyOf(mg), mg.GetUID()
	w.users.answered[uid] = true
	switch {
	case len(live) > 0:
		id := live[0]
		if len(live) > 1 { // a resource that the object does not name is left over in any case
			id = append(w.unexcused(uid), id)[0]
		}
		w.users.change(key, func(mg resource.Managed) {
			annotate(mg, keyExternalName, id)
			unannotate(mg, keyPending)
		})
		w.users.adopted[uid] = true
	case isDeleted(mg) && attemptOf(mg) != "":
		w.users.change(key, func(mg resource.Managed) {
			annotate(mg, keyAbandonAttempt, attemptOf(mg))
		})
	default:
		w.users.change(key, func(mg resource.Managed) {
			unannotate(mg, keyPending, keySucceeded, keyCreateAttempt)
		})
	}
}

// quiet checks two things while nothing changes: that nothing is written and no external resource is changed, and that
// each object is observed once in a poll interval. After a fault it begins again.
func (w *World) quiet() {
	w.script.phase++
	w.script.resting = true
	defer func() { w.script.resting = false }()
	for {
		fired := w.fired
		w.judgeRest()
		if w.fired == fired || w.over {
			return
		}
		w.run(w.now().Add(2 * pollInterval))
		w.settle()
	}
}

func (w *World) judgeRest() {
	const polls = 1
	fired := w.fired
	w.run(w.now().Add(time.Millisecond)) // a pass that is due at this moment may have to write what went wrong before
	for _, p := range w.alive() {
		if (len(w.undone.rewinds) > 0 || w.config.Publishes) && w.now().Sub(p.began) < 2*pollInterval {
			w.run(w.now().Add(2 * pollInterval)) // it looks first at all that was restored, or publishes it again
		}
	}
	written := len(w.server.Changes(0))
	asked, passes, outside, objects := w.work.asked, w.work.passes, w.external.Changes(), len(w.users.all())
	most := objects*(polls+1) + w.users.made - objects + 1
	for _, p := range w.alive() {
		if w.now().Sub(p.began) < 2*pollInterval {
			most += objects // which a process that begins looks at, and then at a moment of its choice
		}
	}
	w.guided.rested = fired
	w.run(w.now().Add(polls*pollInterval + pollInterval/2))
	if w.fired != fired || w.over {
		return
	}
	if w.work.asked != asked {
		w.violate("L4", fmt.Sprintf("%d writes although nothing changed%s", w.work.asked-asked,
			w.describeWrites(written)))
	}
	if w.external.Changes() != outside {
		w.violate("L4", "the external system was changed although nothing was asked for")
	}
	if w.work.passes-passes > most {
		w.violate("L4", fmt.Sprintf("%d passes in %d poll intervals", w.work.passes-passes, polls))
	}
}

// untouched lets time pass and checks that no external resource is changed. It begins again after a change by a pass
// that began before its process had read the last change of users.
func (w *World) untouched(why string) {
	const d = 3 * time.Minute
	for again := true; again && !w.over; {
		before, late := w.external.Changes(), w.exempt.late
		w.run(w.now().Add(d))
		if w.external.Changes()-before != w.exempt.late-late && !w.users.acted {
			w.violate("S7", "the external system was changed "+why)
		}
		again = w.exempt.late != late
	}
}

// judgeWork checks that faults did not lead to too many passes and requests for any object.
func (w *World) judgeWork(faults int) {
	hours := float64(w.since()) / float64(time.Hour)
	for key, passes := range w.work.served {
		// In each process a recovery window begins again, with thirty observations at increasing intervals. It also begins
		// again after a repeated Create. A Create with a token is repeated if no resource is visible at the end of the
		// window.
		times := w.users.times[key]
		repeats := min(max(w.creates[key]-times, 0), times+faults)
		if most := int(70*hours) + 40*times + 30*faults + 30*repeats; passes > most {
			w.violate("L5", fmt.Sprintf("%d passes over %s in %s", passes, key.Name, w.since()))
		}
	}
	for key, times := range w.users.times {
		if most := 25*times + 20*faults + int(20*hours); w.work.writes[key.Name] > most {
			w.violate("L5", fmt.Sprintf("%d writes of %s in %s", w.work.writes[key.Name], key.Name, w.since()))
		}
	}
	if len(w.processes) > 1+faults {
		w.violate("L7", fmt.Sprintf("%d processes, although there were %d faults", len(w.processes), faults))
	}
	objects := max(w.users.made, 1)
	if most := 8*objects + 6*faults + int(4*hours); w.sinks.events > most {
		w.violate("L5", fmt.Sprintf("%d events in %s%s", w.sinks.events, w.since(), w.sinks.alternating()))
	}
}

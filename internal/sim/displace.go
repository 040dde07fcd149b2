package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// otherOwner owns the resources that belong to no object.
const otherOwner types.UID = "other-owner"

// displace removes the resource of an object. NameTaken replaces it with a resource of another owner for a while.
// NameTaken also applies before the object has a resource, if the name of the resource is known.
func (w *World) displace(o Operation, f Fault) {
	id := w.nameOf(o.mg)
	if id == "" || w.ownedByOther(id) || !f.Kind.Applies(w.system.class.name) {
		return
	}
	before := w.system.changes
	if w.removeNamed(keyOf(o.mg), id); w.system.changes != before {
		w.users.acted = true
	}
	if f.Kind == NameTaken {
		w.takeName(o, f, id)
	}
}

// ownedByOther returns whether a resource with the name has another owner. Only the simulated external system can
// answer that.
func (w *World) ownedByOther(id string) bool {
	return w.system != nil &&
		slices.ContainsFunc(w.system.live(otherOwner), func(p *extResource) bool { return p.ID == id })
}

// Applies returns whether faults of the kind can be injected in a class of external system. NameTaken needs an external
// system that stores owners. LostReported needs a class in which only a user can resolve an interrupted create. All
// other kinds apply in every class.
func (k Kind) Applies(class string) bool {
	switch k {
	case NameTaken:
		return classes[class].stamped
	case LostReported:
		return classes[class].blocks // elsewhere nothing depends on what errors say
	default:
		return true
	}
}

// removeNamed immediately removes the resources with the name. The object may give up the name, because its resource is
// created again.
func (w *World) removeNamed(key types.NamespacedName, id string) {
	h := w.system
	for _, p := range h.resources {
		if p.ID == id && p.Backend == h.backend && !h.gone(p) {
			p.deleted = time.Now().Add(-h.goes)
			h.changes++
			w.exempt.vacated[id] = true
			w.users.times[key]++
			h.notify(id)
		}
	}
}

// takeName adds a resource of another owner, and removes it after the duration of the fault. It checks that nothing
// changed that resource.
func (w *World) takeName(o Operation, f Fault, id string) {
	w.users.acted = true
	theirs := w.system.add(extResource{ID: id, Stamp: otherOwner, For: otherOwner, Size: 3})
	theirs.made = w.now().Add(-time.Hour) // it is seen at once
	key, uid := keyOf(o.mg), o.mg.GetUID()
	fired := w.fired
	w.in(f.duration(), func() {
		if !theirs.deleted.IsZero() && len(w.exempt.misled) == 0 || theirs.Size != 3 {
			w.violate("S6", "the resource of another owner was changed or deleted")
		}
		if fired == w.fired && !w.exempt.stale.about(uid) && f.duration() > 2*pollInterval && w.reachableFor(2*pollInterval) {
			w.judgeNameTaken(key, uid, id)
		}
		theirs.deleted = time.Now().Add(-w.system.goes)
		w.system.changes++
	})
}

// reachableFor returns whether everything has been reachable for a while, so that polls have observed it.
func (w *World) reachableFor(while time.Duration) bool {
	return !slices.ContainsFunc([]time.Time{w.effects.externalBack, w.effects.apiBack, w.effects.refuses, w.effects.denies,
		w.effects.drops},
		func(back time.Time) bool { return w.now().Sub(back) < while })
}

// judgeNameTaken checks that an object reports that its name is taken.
func (w *World) judgeNameTaken(key types.NamespacedName, uid types.UID, id string) {
	mg := w.users.get(key)
	if mg == nil || mg.GetUID() != uid || w.nameOf(mg) != id || isPaused(mg) || isDeleted(mg) || w.astray(mg) {
		return
	}
	if conditionOf(mg, "Ready").Status == "True" || conditionOf(mg, "Synced").Status != "False" {
		w.violate("L3", fmt.Sprintf("%s does not say that its resource has another owner", mg.GetName()))
	}
}

// raceDelete removes an object whose first finalizer was just stored. The API server accepted a delete request when the
// object had no finalizer, and completes the deletion now.
func (w *World) raceDelete(p *process, o Operation) {
	for _, c := range slices.Clone(w.server.Changes(w.judged)) {
		if c.Kind != w.config.gvk() || c.Key != o.key || c.Type != apiserver.Modified ||
			len(c.Old.GetFinalizers()) > 0 {
			continue
		}
		uid := c.Object.GetUID()
		w.server.Purge(c.Kind, c.Key)
		w.users.acted, w.gone[uid], w.exempt.raceDeleted[uid] = true, true, true
		p.inPass.raceDeleted[c.Key] = uid
	}
}

// exemptDeleteRaces exempts the objects that a DeleteRace removed during this pass, if another fault also hits the
// pass. Only this pass knows the resources that it creates for them, so the resources may be left over.
func (w *World) exemptDeleteRaces(p *process, faults []Fault) {
	for _, f := range faults {
		if f.Kind == DeleteRace {
			continue
		}
		for _, uid := range p.inPass.raceDeleted {
			w.users.left[uid] = true
			w.exempt.surplus.add(f.Kind, w.last(uid))
		}
	}
}

// last returns the last stored version of an object, even if the object is gone. The result is shared.
func (w *World) last(uid types.UID) resource.Managed {
	changes := w.server.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Object.GetUID() == uid {
			return asManaged(changes[i].Object)
		}
	}

	return nil
}

// displaced returns whether a resource that an earlier object left over has the name of an object's resource. That
// resource has another owner until a person resolves the conflict.
func (w *World) displaced(mg resource.Managed) bool {
	if w.system == nil {
		return false
	}
	p := w.system.find(w.nameOf(mg))

	return p != nil && p.Stamp != mg.GetUID() && (w.mayStay(p.Stamp) || w.exempt.surplus.about(p.Stamp)) &&
		(w.exempt.raceDeleted[p.Stamp] || w.undone.strips[p.Stamp].before != nil)
}

// nameOf returns the name of the resource that an object has or is about to get.
func (w *World) nameOf(mg resource.Managed) string {
	switch id := externalName(underTheirName(mg)); {
	case w.system == nil:
		return ""
	case id == "" && w.system.class.named:
		return mg.GetName()
	default:
		return id
	}
}

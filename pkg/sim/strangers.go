package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// Somebody is the owner of what belongs to no object.
const somebody types.UID = "somebody"

// stands says whether a kind of fault can be judged in a class: who took the place of a
// resource can only be told where owners can.
func (k Kind) stands(class string) bool {
	switch k {
	case Squat:
		return classes[class].stamped
	case LostTold:
		return classes[class].blocks // elsewhere nothing depends on what errors say
	default:
		return true
	}
}

// displace takes away what an object has, behind everybody's back. Squat puts somebody
// else's resource in its place, until that is taken away, too; and so it does before there
// is one, if its name is known.
func (w *World) displace(o operation, f Fault) {
	id := w.nameOf(o.mg)
	if id == "" || w.taken(id) || !f.Kind.stands(w.harbour.class.name) {
		return
	}
	before := w.harbour.changes
	if w.vacate(keyOf(o.mg), id); w.harbour.changes != before {
		w.users.acted = true
	}
	if f.Kind == Squat {
		w.squat(o, f, id)
	}
}

func (w *World) squat(o operation, f Fault, id string) {
	w.users.acted = true
	theirs := w.harbour.put(place{ID: id, Stamp: somebody, For: somebody, Length: 3})
	theirs.made = w.now().Add(-time.Hour) // it is seen at once
	key, uid := keyOf(o.mg), o.mg.GetUID()
	fired := w.fired
	w.in(f.duration(), func() {
		if !theirs.deleted.IsZero() && len(w.misled) == 0 || theirs.Length != 3 {
			w.violate("S6", "somebody else's resource was changed or deleted")
		}
		if fired == w.fired && !w.stale.about(uid) && f.duration() > 2*pollInterval && w.inReach(2*pollInterval) {
			w.judgeSquatted(key, uid, id)
		}
		theirs.deleted = time.Now().Add(-w.harbour.goes)
		w.harbour.changes++
	})
}

// inReach says whether nothing has been away for a while, so that whoever polls has looked.
func (w *World) inReach(while time.Duration) bool {
	return !slices.ContainsFunc([]time.Time{w.externalBack, w.apiBack, w.refuses, w.denies, w.drops}, func(back time.Time) bool { return w.now().Sub(back) < while })
}

// taken says whether somebody else has a name, as far as the harbour tells: what clients of others work with is not
// known.
func (w *World) taken(id string) bool {
	return w.harbour != nil && slices.ContainsFunc(w.harbour.live(somebody), func(p *place) bool { return p.ID == id })
}

// judgeSquatted judges that an object says that its place is taken.
func (w *World) judgeSquatted(key types.NamespacedName, uid types.UID, id string) {
	mg := w.users.get(key)
	if mg == nil || mg.GetUID() != uid || w.nameOf(mg) != id || isPaused(mg) || isDeleted(mg) || w.astray(mg) {
		return
	}
	if conditionOf(mg, "Ready").Status == "True" || conditionOf(mg, "Synced").Status != "False" {
		w.violate("L3", fmt.Sprintf("%s does not say that its resource is somebody else's", mg.GetName()))
	}
}

// nameOf returns the name of what an object has in the harbour, or is about to have.
func (w *World) nameOf(mg resource.Managed) string {
	switch id := externalName(underTheirName(mg)); {
	case w.harbour == nil:
		return ""
	case id == "" && w.harbour.class.named:
		return mg.GetName()
	default:
		return id
	}
}

// vacate takes away at once whatever has a name, which may be given up now: what the
// object has is made once more.
func (w *World) vacate(key types.NamespacedName, id string) {
	h := w.harbour
	for _, p := range h.places {
		if p.ID == id && p.System == h.system && !h.gone(p) {
			p.deleted = time.Now().Add(-h.goes)
			h.changes++
			w.vacated[id] = true
			w.users.times[key]++
			h.tells(id)
		}
	}
}

// snatch removes an object whose first finalizer was just stored: the API server had been
// asked to delete it before, when it had none, and does so a moment later.
func (w *World) snatch(p *process, o operation) {
	for _, c := range slices.Clone(w.server.Changes(w.judged)) {
		if c.Kind != w.config.gvk() || c.Key != o.key || c.Type != apiserver.Modified || len(c.Old.GetFinalizers()) > 0 {
			continue
		}
		uid := c.Object.GetUID()
		w.server.Purge(c.Kind, c.Key)
		w.users.acted, w.gone[uid], w.snatched[uid] = true, true, true
		p.snatched[c.Key] = uid
	}
}

// last returns an object as it was stored last, although it may be gone. It is shared.
func (w *World) last(uid types.UID) resource.Managed {
	changes := w.server.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Object.GetUID() == uid {
			return asManaged(changes[i].Object)
		}
	}

	return nil
}

// forgets notes that something else goes wrong in a pass that alone knows what it creates
// for an object which is gone in spite of its finalizer: what is left over is beyond
// anybody's power.
func (w *World) forgets(p *process, faults []Fault) {
	for _, f := range faults {
		if f.Kind == Snatch {
			continue
		}
		for _, uid := range p.snatched {
			w.users.left[uid] = true
			w.exemptions.add(f.Kind, w.last(uid))
		}
	}
}

// displaced says whether the name of an object is that of what nobody could take away when
// another object of its name had gone. That is somebody else's until a human looks after it.
func (w *World) displaced(mg resource.Managed) bool {
	if w.harbour == nil {
		return false
	}
	p := w.harbour.at(w.nameOf(mg))

	return p != nil && p.Stamp != mg.GetUID() && (w.mayStay(p.Stamp) || w.exemptions.about(p.Stamp)) && (w.snatched[p.Stamp] || w.strips[p.Stamp].before != nil)
}

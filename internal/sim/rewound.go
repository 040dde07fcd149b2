package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

const (
	// renews is the interval at which a leader renews its lease and reads the version of the lease.
	renews = 2 * time.Second
	// probes is the interval at which a process without a lease reads a version.
	probes = time.Minute
	// leaving is the maximum duration of the work that a process does before its end.
	leaving = 25 * time.Second
)

// rewind restores the API server to the state before the last writes. Running processes continue with their caches
// until they notice the restore.
func (w *World) rewind(f Fault) {
	before := w.users.all()
	w.users.acted = true // changes of users may be undone
	seen := len(w.server.Changes(0))
	by := w.server.Rewind(max(f.Writes, 1))
	w.undone.writes = w.undone.writes || slices.Contains(by, "user")
	for _, c := range w.server.Changes(seen) {
		if c.Kind == w.config.gvk() {
			continue
		}
		w.undone.unpublished = w.undone.unpublished || c.Type == apiserver.Deleted
		if c.Type == apiserver.Deleted || c.Object.GetDeletionTimestamp() == nil {
			w.evicted = time.Time{} // what the object is deleted with is not deleted any more
		}
	}
	for _, mg := range before {
		w.undone.rewinds[mg.GetUID()] = mg
		if now := w.stored(mg); now == nil {
			w.undone.forgotten[mg.GetUID()] = !w.users.left[mg.GetUID()] && !unknownToProvider(mg)
			w.users.left[mg.GetUID()] = true // resources of objects that are not in the backup
		}
	}
	for _, mg := range w.users.all() {
		w.returns(mg)
		w.unreads(mg)
		if f.Kind == RewoundDown || w.resolved(mg) {
			w.losesRewound(mg, f.Kind)
		}
	}
	if f.Kind == RewoundDown {
		w.losesAll(f.Kind)
	}
	for _, other := range w.alive() {
		other.rewound()
	}
}

// resolved returns whether a user recorded the result of the last attempt for an object only with an external name. A
// process that knows the attempt does not restore its record then.
func (w *World) resolved(mg resource.Managed) bool {
	before, known := w.undone.rewinds[mg.GetUID()]

	return known && w.users.adopted[mg.GetUID()] && attempting(before)
}

// diesRewound records that a process ends before it notices a restore, or before it has written back what it knows.
func (w *World) diesRewound(p *process, by Kind) {
	if !p.restored.outdated || by == Rewound {
		return
	}
	for _, mg := range w.users.all() {
		w.losesRewound(mg, Rewound)
	}
}

// returns records the state of an object after a restore. The object may have been gone before, and its resource may be
// gone.
func (w *World) returns(mg resource.Managed) {
	uid := mg.GetUID()
	delete(w.gone, uid)
	delete(w.shown, uid)
	if _, known := w.undone.rewinds[uid]; !known {
		w.undone.rewinds[uid] = mg // it was gone
	}
	if mg = underTheirName(mg); externalName(mg) != "" {
		if _, exists := w.external.MadeFor(mg); !exists {
			w.exempt.vacated[externalName(mg)] = true
		}
	}
}

// unreads records that a restore of the API server has undone what a pass had restored after a replace.
func (w *World) unreads(mg resource.Managed) {
	if s, stripped := w.undone.strips[mg.GetUID()]; stripped && !isHeld(mg) {
		s.read, s.reads = false, 0
		w.undone.strips[mg.GetUID()] = s
	}
}

// losesRewound records that an attempt for an object is no longer known: the restored state has no record of it, and no
// running process could write the record back.
func (w *World) losesRewound(mg resource.Managed, k Kind) {
	before, known := w.undone.rewinds[mg.GetUID()]
	if !known || w.external.Traits().Named || attemptOf(before) == attemptOf(mg) || recordOf(mg) == "" &&
		w.traced(before) {
		return
	}
	w.exempt.surplus.add(k, before)
}

// rewound records that the API server was restored while the process runs. The watches of the process get no more
// events. The process notices the restore when it next reads a version.
func (p *process) rewound() {
	p.restored.outdated = true
	next := renews
	if p.world.config.alone {
		next = probes
	}
	p.seeVersion(next)
}

// seeVersion lets the process read the version of the lease or of a list after a duration.
func (p *process) seeVersion(after time.Duration) {
	p.world.in(after, func() {
		switch {
		case p.dead || p.ending.stopping:
		case p.leadership.held:
			p.seeVersion(time.Second)
		default:
			p.restored.detector.Seen(schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, "2", "1")
		}
	})
}

// toLeave returns whether the process has noticed a restore and only does the work before its end.
func (p *process) toLeave() bool {
	return p.restored.detector != nil && !p.dead && !p.leadership.held && !p.ending.leaving && p.inPass.active == 0 &&
		p.restored.detector.Restored() != nil
}

// leave does the work of a process before its end after a restore, and ends the process. If the work takes too long,
// the process ends when it loses its lease.
func (p *process) leave() {
	w, over, pass := p.world, make(chan struct{}), p.world.trail.pass
	defer func() {
		p.background.requests.close()
		w.trail.pass = pass
		if r := recover(); r != nil {
			if c, ok := r.(crash); !ok || c.process != p {
				panic(r)
			}
		}
	}()
	until := w.now().Add(leaving)
	if !w.config.alone {
		until = w.now().Add(renewDeadline - renews)
	}
	p.ending.leaving, p.ending.left = true, over
	ctx, restores := besides(p.ctx), p.restored.detector
	go func() {
		defer close(over)
		_ = restores.Start(ctx)
	}()
	for ended := false; !ended && !p.dead && !w.over && w.now().Before(until); {
		if !p.serve() {
			select {
			case <-over:
				ended = true
				w.judgeForgotten()
			default:
				w.advance(w.now().Add(50*time.Millisecond), nil)
			}
		}
	}
	if !p.dead {
		p.stop(Rewound)
	}
}

// judgeForgotten checks that a process that ends after a restore has reported all resources whose objects are missing
// in the restored state.
func (w *World) judgeForgotten() {
	for uid, was := range w.undone.rewinds {
		if w.undone.forgotten[uid] && w.stored(was) == nil && len(w.external.Of(uid)) > 0 &&
			!w.sinks.leftOver[was.GetName()] {
			w.violate("L3", fmt.Sprintf("%s is not in the restored state, its resource exists, and was not reported",
				was.GetName()))
		}
	}
}

// outdates returns the version of an object before a restore if two conditions hold: a process has not noticed the
// restore yet, and the restore has removed the attempt that the process makes. Otherwise it returns the current
// version.
func (w *World) outdates(p *process, mg, now resource.Managed) resource.Managed {
	was, rewound := w.undone.rewinds[mg.GetUID()]
	switch attempt := recordOf(mg); {
	case !rewound || !p.restored.outdated || recordOf(was) != attempt:
		return now
	case now != nil && isHeld(now) && recordOf(now) == attempt:
		return now
	default:
		return was
	}
}

// vanished returns whether an object is missing in the restored state.
func (w *World) vanished(mg resource.Managed) bool {
	_, rewound := w.undone.rewinds[mg.GetUID()]

	return rewound && w.stored(mg) == nil
}

// leftBehind returns whether an object has the name of a resource whose object is missing in the restored state.
func (w *World) leftBehind(mg resource.Managed) bool {
	if w.system == nil {
		return false
	}
	p := w.system.find(w.nameOf(mg))
	if p == nil || p.For == mg.GetUID() {
		return false
	}
	was, rewound := w.undone.rewinds[p.For]

	return rewound && w.stored(was) == nil
}

// lapsed returns whether a restored object has the name of a resource that no longer exists.
func (w *World) lapsed(mg resource.Managed) bool {
	_, rewound := w.undone.rewinds[mg.GetUID()]
	_, exists := w.external.MadeFor(mg)

	return rewound && !exists
}

// unlocks records that a process that has not noticed a restore has written over a version that it knows from another
// state of the object. Any other version would have been a conflict. If a replace had made that version, no pass finds
// what the replace removed.
func (w *World) unlocks(p *process, over client.Object, now resource.Managed) {
	again := func(c apiserver.Change) bool {
		return c.Object != over && c.Object.GetUID() == over.GetUID() &&
			c.Object.GetResourceVersion() == over.GetResourceVersion()
	}
	if !p.restored.outdated || !slices.ContainsFunc(w.server.Changes(0), again) {
		return
	}
	w.exempt.unlocked.add(Rewound, now)
	if s, stripped := w.undone.strips[now.GetUID()]; stripped && !s.read {
		w.exempt.unlocked.add(Rewound, s.before)
	}
}

// noLock returns whether unlocks has recorded that for the current attempt of an object.
func (w *World) noLock(p *process, mg resource.Managed) bool {
	return p.restored.outdated && w.exempt.unlocked.excuses(mg.GetUID(),
		func(e exemption) bool { return e.attempt == attemptOf(mg) })
}

// takenAway returns whether the resource of an object was removed out of band, or by a process that did not know that
// the object is no longer being deleted.
func (w *World) takenAway(mg resource.Managed) bool {
	name := externalName(mg)

	return w.exempt.vacated[name] || w.exempt.undeleted.excuses(mg.GetUID(),
		func(e exemption) bool { return e.name == name })
}

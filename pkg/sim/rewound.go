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
	// A leader renews its lease so often, and sees its version.
	renews = 2 * time.Second
	// Who has no lease looks at a version so often.
	probes = time.Minute
	// How long what is done before the end of a process may take.
	leaving = 25 * time.Second
)

// rewind restores the API server to what it was some writes ago. Those processes that live go on with the
// caches they have until they notice.
func (w *World) rewind(f Fault) {
	before := w.users.all()
	w.users.acted = true // what users did since may not be done any more
	seen := len(w.server.Changes(0))
	by := w.server.Rewind(max(f.Writes, 1))
	w.undone = w.undone || slices.Contains(by, "user")
	for _, c := range w.server.Changes(seen) {
		if c.Kind == w.config.gvk() {
			continue
		}
		w.unpublished = w.unpublished || c.Type == apiserver.Deleted
		if c.Type == apiserver.Deleted || c.Object.GetDeletionTimestamp() == nil {
			w.evicted = time.Time{} // what the object is deleted with is not deleted any more
		}
	}
	for _, mg := range before {
		w.rewinds[mg.GetUID()] = mg
		if now := w.stored(mg); now == nil {
			w.forgotten[mg.GetUID()] = !w.users.left[mg.GetUID()] && !unheardOf(mg)
			w.users.left[mg.GetUID()] = true // what is outside of objects that are not in the backup
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

// resolved says whether a person has told what became of the last attempt for an object, of which there is
// no other record than the name that he gave: a process that knows it does not write it back.
func (w *World) resolved(mg resource.Managed) bool {
	before, known := w.rewinds[mg.GetUID()]

	return known && w.users.adopted[mg.GetUID()] && attempting(before)
}

// diesRewound notes that a process ends before it knows of a restore, or has written back what it knows.
func (w *World) diesRewound(p *process, by Kind) {
	if !p.outdated || by == Rewound {
		return
	}
	for _, mg := range w.users.all() {
		w.losesRewound(mg, Rewound)
	}
}

// returns notes what an object is after a restore: it may be one that was gone, and have a resource
// that is.
func (w *World) returns(mg resource.Managed) {
	uid := mg.GetUID()
	delete(w.gone, uid)
	delete(w.shown, uid)
	if _, known := w.rewinds[uid]; !known {
		w.rewinds[uid] = mg // it was gone
	}
	if mg = underTheirName(mg); externalName(mg) != "" {
		if _, exists := w.outside.MadeFor(mg); !exists {
			w.vacated[externalName(mg)] = true
		}
	}
}

// unreads notes that what was put back after a replace is taken again by a restore.
func (w *World) unreads(mg resource.Managed) {
	if s, stripped := w.strips[mg.GetUID()]; stripped && !isHeld(mg) {
		s.read, s.reads = false, 0
		w.strips[mg.GetUID()] = s
	}
}

// losesRewound notes that nobody knows any more of an attempt for an object: its record is not in the
// state that was restored, and no process lives that could write it back.
func (w *World) losesRewound(mg resource.Managed, k Kind) {
	before, known := w.rewinds[mg.GetUID()]
	if !known || w.outside.Traits().Named || attemptOf(before) == attemptOf(mg) || recordOf(mg) == "" && w.traced(before) {
		return
	}
	w.exemptions.add(k, before)
}

// rewound notes that the API server was restored while the process lives: its watches tell nothing any
// more, and it notices by the next look at a version.
func (p *process) rewound() {
	p.outdated = true
	next := renews
	if p.world.config.alone {
		next = probes
	}
	p.sees(next)
}

// sees a version of the lease, or of a list, after a while.
func (p *process) sees(after time.Duration) {
	p.world.in(after, func() {
		switch {
		case p.dead || p.stopping:
		case p.held:
			p.sees(time.Second)
		default:
			p.restores.Seen(schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, "2", "1")
		}
	})
}

// Leaves says whether the process knows of a restore, and has only to do what comes before its end.
func (p *process) toLeave() bool {
	return p.restores != nil && !p.dead && !p.held && !p.leaving && p.active == 0 && p.restores.Restored() != nil
}

// leave does what is done before the end of a process whose API server was restored, and ends it. It
// ends with its lease if that takes too long.
func (p *process) leave() {
	w, over, pass := p.world, make(chan struct{}), p.world.trail.pass
	defer func() {
		p.beside.close()
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
	p.leaving, p.left = true, over
	ctx, restores := besides(p.ctx), p.restores
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
				w.lives(w.now().Add(50*time.Millisecond), nil)
			}
		}
	}
	if !p.dead {
		p.stop(Rewound)
	}
}

// judgeForgotten judges that a process which ends after a restore has told of all resources whose objects
// are not in the restored state.
func (w *World) judgeForgotten() {
	for uid, was := range w.rewinds {
		if w.forgotten[uid] && w.stored(was) == nil && len(w.outside.Of(uid)) > 0 && !w.told.leftOver[was.GetName()] {
			w.violate("L3", fmt.Sprintf("%s is not in the restored state, its resource is there, and nothing was said", was.GetName()))
		}
	}
}

// outdates returns an object as it was stored before a restore of which a process does not know yet, if that
// has taken the attempt that it makes, or else as it is stored now.
func (w *World) outdates(p *process, mg, now resource.Managed) resource.Managed {
	was, rewound := w.rewinds[mg.GetUID()]
	switch attempt := recordOf(mg); {
	case !rewound || !p.outdated || recordOf(was) != attempt:
		return now
	case now != nil && isHeld(now) && recordOf(now) == attempt:
		return now
	default:
		return was
	}
}

// vanished says whether an object is not in the state that the API server was restored to.
func (w *World) vanished(mg resource.Managed) bool {
	_, rewound := w.rewinds[mg.GetUID()]

	return rewound && w.stored(mg) == nil
}

// leftBehind says whether the name of an object is that of what is left of one that is not in the restored state.
func (w *World) leftBehind(mg resource.Managed) bool {
	if w.harbour == nil {
		return false
	}
	p := w.harbour.at(w.nameOf(mg))
	if p == nil || p.For == mg.GetUID() {
		return false
	}
	was, rewound := w.rewinds[p.For]

	return rewound && w.stored(was) == nil
}

// lapsed says whether a restored object has the name of what is not there any more.
func (w *World) lapsed(mg resource.Managed) bool {
	_, rewound := w.rewinds[mg.GetUID()]
	_, exists := w.outside.MadeFor(mg)

	return rewound && !exists
}

// unlocks notes that a process which does not know of a restore has written over a version that it knows of another
// state of the object: by any other version it would have been refused. If a replace had made that version, no pass
// will find what it took.
func (w *World) unlocks(p *process, over client.Object, now resource.Managed) {
	again := func(c apiserver.Change) bool {
		return c.Object != over && c.Object.GetUID() == over.GetUID() && c.Object.GetResourceVersion() == over.GetResourceVersion()
	}
	if !p.outdated || !slices.ContainsFunc(w.server.Changes(0), again) {
		return
	}
	w.unlocked.add(Rewound, now)
	if s, stripped := w.strips[now.GetUID()]; stripped && !s.read {
		w.unlocked.add(Rewound, s.before)
	}
}

// noLock says whether a process has written over a version that was no lock, in the attempt that an object is marked
// with.
func (w *World) noLock(p *process, mg resource.Managed) bool {
	return p.outdated && w.unlocked.excuses(mg.GetUID(), func(e exemption) bool { return e.attempt == attemptOf(mg) })
}

// takenAway says whether what has the name of an object was taken away by others, or by a process that did not know
// that the object is not being deleted any more.
func (w *World) takenAway(mg resource.Managed) bool {
	name := externalName(mg)

	return w.vacated[name] || w.undeleted.excuses(mg.GetUID(), func(e exemption) bool { return e.name == name })
}

package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A StateHash identifies the state of a run at a boundary. Two states are equal if the rest of the run is expected to
// be the same. So times, texts, numbers and removed objects count only if they affect the rest of the run.
type StateHash struct {
	Sum     uint64 // 0: not known
	Excuses Excuses
}

// An Excuses is the set of earlier events that may excuse a violation. If a run passes its checks with some excuses, it
// also passes with more excuses.
type Excuses uint32

// Within returns whether others contains all excuses of e.
func (e Excuses) Within(others Excuses) bool { return e&^others == 0 }

// UserActed returns whether a fault made a user change something.
func (e Excuses) UserActed() bool { return e&1 != 0 }

// excuses returns the set of this run.
func (w *World) excuses() Excuses {
	out := Excuses(0)
	for i, is := range []bool{
		w.users.acted, len(w.exempt.lost) > 0, len(w.exempt.stale) > 0, len(w.exempt.surplus) > 0, len(w.exempt.vacated) > 0,
		len(w.exempt.raceDeleted) > 0,
		len(w.users.left) > 0, len(w.users.adopted) > 0, len(w.users.released) > 0, len(w.users.answered) > 0,
		len(w.exempt.misled) > 0, len(w.exempt.freed) > 0,
		w.exempt.lost.current(w.objects()), w.exempt.surplus.current(w.objects()),
		len(w.exempt.unlocked) > 0, w.exempt.unlocked.current(w.objects()), len(w.exempt.undeleted) > 0,
		w.exempt.undeleted.current(w.objects()),
		w.lostNames(),
	} {
		out |= Excuses(bit(is)) << i
	}

	return out
}

// stateHash returns the hash of the current state. It omits the process but, if that is not nil. A pass in progress
// contributes the answers that it got.
func (w *World) stateHash(but *process) StateHash {
	if w.system == nil {
		return StateHash{} // of an external system outside this package it is not known what matters
	}
	sum := w.trail.pass
	if but != nil {
		sum = but.outer
	}
	sum = mixed(sum, w.progress())
	sum = mixed(sum, uint64(w.plan.count-w.fired))
	sum = mixed(sum, uint64(len(w.events)))
	for _, is := range []bool{
		w.effects.absent != "", w.now().Before(w.effects.apiBack), w.now().Before(w.effects.externalBack),
		w.now().Before(w.effects.refuses),
		w.now().Before(w.effects.denies), w.now().Before(w.effects.drops), w.script.resting,
	} {
		sum = mixed(sum, bit(is))
	}
	for _, p := range w.processes {
		if !p.dead && p != but {
			sum = mixed(sum, p.hash())
		}
	}
	sum = mixed(sum, w.system.hash(w))
	for _, mg := range w.objects() {
		sum = mixed(sum, w.objectHash(mg)) + w.stripped(mg) + w.exportable(mg)
		for _, p := range w.processes {
			if !p.dead {
				sum = mixed(sum, p.age(mg)) + p.searches(mg)
			}
		}
	}

	return StateHash{max(sum, 1), w.excuses()}
}

// progress returns a hash of how far the scenario has come. Scenarios with the same beginning have the same hash until
// they differ.
func (w *World) progress() uint64 {
	if !w.script.diverged && w.script.begins != "" {
		return hashed(w.script.begins)
	}

	return mixed(hashed(w.script.scenario), uint64(w.script.phase))
}

// hash returns the hash of the state of a process, without its passes.
func (p *process) hash() uint64 {
	sum := mixed(p.memory, uint64(len(p.world.server.Changes(0))-p.cache.read))
	for _, is := range []bool{
		p.ending.stopping, p.leadership.deposed, p.leadership.held, p.leadership.excused, p.restored.outdated,
		p.leadership.renewed.Load() != nil,
		p.world.now().Before(p.cache.frozen), len(p.inPass.raceDeleted) > 0, len(p.known.unanswered) > 0,
		p.cache.broken,
	} {
		sum = mixed(sum, bit(is))
	}

	return mixed(sum, p.referents.hash())
}

// hash returns the hash of the resources that exist.
func (h *extSystem) hash(w *World) uint64 {
	sum := hashed(h.backend, h.details)
	for _, p := range h.resources {
		if h.gone(p) {
			continue
		}
		sum = mixed(sum, hashed(string(p.For), string(p.Stamp), p.Backend)) + w.keyHash(p)
		for _, is := range []bool{
			p.deleted.IsZero(), h.visible(p), time.Since(p.made) >= h.takes, w.gone[p.For] && !w.mayStay(p.For) &&
				!w.exempt.surplus.about(p.For),
			h.class.finds > 0 && time.Since(p.made) >= h.class.finds,
		} {
			sum = mixed(sum, bit(is))
		}
	}

	return sum
}

// objectHash returns the hash of what a new process can read of an object, and of the relation between the object and
// its external resource.
func (w *World) objectHash(mg resource.Managed) uint64 {
	sum := w.trail.hashes[mg]
	if sum == 0 {
		sum = contentHash(mg)
		if w.trail.hashes == nil {
			w.trail.hashes = map[client.Object]uint64{}
		}
		w.trail.hashes[mg] = sum
	}

	return mixed(sum, w.relation(mg))
}

// relation hashes how an object relates to its external resource.
func (w *World) relation(mg resource.Managed) uint64 {
	at := slices.IndexFunc(w.system.resources, func(p *extResource) bool {
		return p.ID == w.nameOf(mg) && p.Backend == w.system.backend && !w.system.gone(p)
	})
	if at < 0 {
		return 0
	}
	p := w.system.resources[at]
	before := 0
	for _, other := range w.system.resources[:at] {
		if !w.system.gone(other) {
			before++
		}
	}
	sum := uint64(before + 1)
	b, err := bucketOf(mg)
	if err != nil {
		return sum
	}
	for _, is := range []bool{p.Token == attemptOf(mg), p.Size == b.Spec.Size, p.Parent == b.Spec.Parent,
		b.Status.ID == p.ID, b.Status.Size == p.Size} {
		sum = mixed(sum, bit(is))
	}

	return sum
}

// age classifies the age of the last creation annotation of an object, by the clock of a process. That clock may be
// wrong.
func (p *process) age(mg resource.Managed) uint64 {
	last := time.Time{}
	for _, mark := range []time.Time{markedAt(mg, keyPending), markedAt(mg, keySucceeded), markedAt(mg, keyFailed)} {
		if mark.After(last) {
			last = mark
		}
	}
	switch age := p.clock.Now().Sub(last); {
	case last.IsZero():
		return 0
	case age < 0:
		return 1
	case age < marked:
		return 2
	default:
		return 3
	}
}

// searches classifies two facts, for a class that can search for a created resource. The first is whether the object is
// older than the process, by the clock of the process. The second is whether everything that was created before the
// process can be found now.
func (p *process) searches(mg resource.Managed) uint64 {
	h := p.world.system
	if h == nil || h.class.finds == 0 || mg.GetCreationTimestamp().After(p.startedAt().Add(apart)) {
		return 0
	}

	return 1 + bit(p.clock.Now().Sub(p.startedAt()) >= searchWindow*h.class.finds)
}

// apart is the maximum difference between the clocks of an API server and of a process. An object that was created
// within this time after the start of a process may be taken for an older one.
const apart = 2 * time.Second

// marked is the age from which a creation annotation counts as old.
const marked = 30 * time.Second

// passing has the reasons of failures that differ only in how soon the next pass comes.
var passing = map[commonv1.ConditionReason]bool{
	"ReconcileError": true, "Throttled": true, "Unauthorized": true, "ExternalSystemUnavailable": true,
}

// contentHash returns the hash of the metadata and the conditions of an object.
func contentHash(mg resource.Managed) uint64 {
	sum := hashed(mg.GetName(), string(mg.GetUID()), mg.GetNamespace())
	sum = mixed(sum, bit(isDeleted(mg)))
	sum = mixed(sum, hashed(mg.GetFinalizers()...))
	for _, key := range slices.Sorted(maps.Keys(mg.GetAnnotations())) {
		value := mg.GetAnnotations()[key]
		switch {
		case key == keyCreateAttempt:
			_, value, _ = strings.Cut(value, "/")
		case key == keyExternalName && strings.HasPrefix(value, "bucket-"), strings.Contains(key, "external-create-"),
			strings.HasPrefix(key, "example.com/"):
			value = ""
		}
		sum = mixed(sum, hashed(key, value))
	}
	if observed, tells := observedGeneration(mg); tells {
		sum = mixed(sum, bit(observed == mg.GetGeneration()))
	}
	origin := recordOf(mg)
	for _, c := range statusOf(mg) {
		if ourTypes[c.Type] {
			reason := c.Reason
			if passing[reason] || c.Type == "UpToDate" {
				reason = ""
			}
			sum += mixed(hashed(string(c.Type), string(c.Status), string(reason)),
				bit(c.ObservedGeneration == mg.GetGeneration()))
		}
		if c.Type == "Created" {
			sum += bit(origin != "" && createdRecords(mg, origin))
		}
	}

	return sum
}

// hashIfNeeded returns the state hash if another fault may be injected now, which is only after all faults of the
// schedule. It omits the process but, which is about to end, if that is not nil.
func (w *World) hashIfNeeded(but *process) StateHash {
	if !w.hashing() || !w.guided.begun {
		return StateHash{}
	}
	if but != nil && (but.leadership.deposed || but.ending.stopping || but.leadership.excused ||
		len(but.inPass.raceDeleted) > 0 || but.inPass.active > 1) {
		return StateHash{} // it ends in another way
	}

	return w.stateHash(but)
}

// objects returns the managed objects.
func (w *World) objects() []resource.Managed {
	if n := len(w.server.Changes(0)); n != w.trail.changes {
		w.trail.changes, w.trail.objects = n, w.users.all()
	}

	return w.trail.objects
}

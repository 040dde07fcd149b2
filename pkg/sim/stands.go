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

// A stand is how everything stands at a boundary, but for what makes no difference to
// what may follow: times, texts, numbers, and what is gone for good.
type stand struct {
	hash    uint64 // 0 is nobody knows
	excuses excuses
}

// Excuses are what has happened that explains what would be a fault otherwise. What
// holds without them holds with them.
type excuses uint32

// within says whether all of the excuses are among others.
func (e excuses) within(others excuses) bool { return e&^others == 0 }

func (w *World) excuses() excuses {
	out := excuses(0)
	for i, is := range []bool{
		w.users.acted, len(w.lost) > 0, len(w.stale) > 0, len(w.exemptions) > 0, len(w.vacated) > 0, len(w.snatched) > 0,
		len(w.users.left) > 0, len(w.users.adopted) > 0, len(w.users.released) > 0, len(w.users.answered) > 0, len(w.misled) > 0, len(w.freed) > 0,
		w.lost.now(w.objects()), w.exemptions.now(w.objects()),
		len(w.unlocked) > 0, w.unlocked.now(w.objects()), len(w.undeleted) > 0, w.undeleted.now(w.objects()), w.lostNames(),
	} {
		out |= excuses(bit(is)) << i
	}

	return out
}

// stands returns how everything stands. What the passes under way know is what they
// were told.
func (w *World) stands(but *process) stand {
	if w.harbour == nil {
		return stand{} // nobody knows what matters of others' systems
	}
	sum := w.trail.pass
	if but != nil {
		sum = but.outer
	}
	sum = mixed(sum, w.chapter())
	sum = mixed(sum, uint64(w.planned-w.fired))
	sum = mixed(sum, uint64(len(w.events)))
	for _, is := range []bool{
		w.absent != "", w.now().Before(w.apiBack), w.now().Before(w.externalBack), w.now().Before(w.refuses), w.now().Before(w.denies), w.now().Before(w.drops), w.resting,
	} {
		sum = mixed(sum, bit(is))
	}
	for _, p := range w.processes {
		if !p.dead && p != but {
			sum = mixed(sum, p.stands())
		}
	}
	sum = mixed(sum, w.harbour.stands(w))
	for _, mg := range w.objects() {
		sum = mixed(sum, w.looksOf(mg)) + w.stripped(mg) + w.exportable(mg)
		for _, p := range w.processes {
			if !p.dead {
				sum = mixed(sum, p.age(mg)) + p.searches(mg)
			}
		}
	}

	return stand{max(sum, 1), w.excuses()}
}

// chapter is how far the story of the scenario has come. Some begin alike.
func (w *World) chapter() uint64 {
	if !w.turned && w.begins != "" {
		return hashed(w.begins)
	}

	return mixed(hashed(w.scenario), uint64(w.phase))
}

// stands is how a process stands, but for the passes that it makes.
func (p *process) stands() uint64 {
	sum := mixed(p.memory, uint64(len(p.world.server.Changes(0))-p.cache.read))
	for _, is := range []bool{
		p.stopping, p.deposed, p.held, p.excused, p.outdated, p.renewed.Load() != nil,
		p.world.now().Before(p.cache.frozen), len(p.snatched) > 0, len(p.unanswered) > 0,
		p.cache.broken,
	} {
		sum = mixed(sum, bit(is))
	}

	return mixed(sum, p.referents.stands())
}

// stands is how the places are that are not gone.
func (h *harbour) stands(w *World) uint64 {
	sum := hashed(h.system, h.details)
	for _, p := range h.places {
		if h.gone(p) {
			continue
		}
		sum = mixed(sum, hashed(string(p.For), string(p.Stamp), p.System)) + w.keyStands(p)
		for _, is := range []bool{
			p.deleted.IsZero(), h.visible(p), time.Since(p.made) >= h.takes, w.gone[p.For] && !w.mayStay(p.For) && !w.exemptions.about(p.For),
			h.class.finds > 0 && time.Since(p.made) >= h.class.finds,
		} {
			sum = mixed(sum, bit(is))
		}
	}

	return sum
}

// Looks are what an object says, as far as a process that begins can tell, and in which
// relation that is to its place.
func (w *World) looksOf(mg resource.Managed) uint64 {
	sum := w.trail.looks[mg]
	if sum == 0 {
		sum = looks(mg)
		if w.trail.looks == nil {
			w.trail.looks = map[client.Object]uint64{}
		}
		w.trail.looks[mg] = sum
	}

	return mixed(sum, w.relation(mg))
}

// relation is that of an object to its place.
func (w *World) relation(mg resource.Managed) uint64 {
	at := slices.IndexFunc(w.harbour.places, func(p *place) bool { return p.ID == w.nameOf(mg) && p.System == w.harbour.system && !w.harbour.gone(p) })
	if at < 0 {
		return 0
	}
	p := w.harbour.places[at]
	before := 0
	for _, other := range w.harbour.places[:at] {
		if !w.harbour.gone(other) {
			before++
		}
	}
	sum := uint64(before + 1)
	b, err := berthOf(mg)
	if err != nil {
		return sum
	}
	for _, is := range []bool{p.Token == attemptOf(mg), p.Length == b.Spec.Length, p.Quay == b.Spec.Quay, b.Status.ID == p.ID, b.Status.Length == p.Length} {
		sum = mixed(sum, bit(is))
	}

	return sum
}

// age is how old the last mark on an object is to a process whose clock may be wrong.
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

// searches says, where what was created can be looked for, whether an object was there before the process, by its
// clock, and whether all that was created then can be found by now.
func (p *process) searches(mg resource.Managed) uint64 {
	h := p.world.harbour
	if h == nil || h.class.finds == 0 || mg.GetCreationTimestamp().After(p.made().Add(apart)) {
		return 0
	}

	return 1 + bit(p.clock.Now().Sub(p.made()) >= searchWindow*h.class.finds)
}

// So far the clocks of an API server and of a process may be apart: what is created shortly after a process began may
// be taken for older.
const apart = 2 * time.Second

// How old a mark has to be to be an old one.
const marked = 30 * time.Second

// Reasons of failures that say only how urgent the next pass is.
var passing = map[commonv1.ConditionReason]bool{
	"ReconcileError": true, "Throttled": true, "Unauthorized": true, "ExternalSystemUnavailable": true,
}

// looks are what an object says itself.
func looks(mg resource.Managed) uint64 {
	sum := hashed(mg.GetName(), string(mg.GetUID()), mg.GetNamespace())
	sum = mixed(sum, bit(isDeleted(mg)))
	sum = mixed(sum, hashed(mg.GetFinalizers()...))
	for _, key := range slices.Sorted(maps.Keys(mg.GetAnnotations())) {
		value := mg.GetAnnotations()[key]
		switch {
		case key == keyCreateAttempt:
			_, value, _ = strings.Cut(value, "/")
		case key == keyExternalName && strings.HasPrefix(value, "place-"), strings.Contains(key, "external-create-"), strings.HasPrefix(key, "example.com/"):
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
			sum += mixed(hashed(string(c.Type), string(c.Status), string(reason)), bit(c.ObservedGeneration == mg.GetGeneration()))
		}
		if c.Type == "Created" {
			sum += bit(origin != "" && tellsOf(mg, origin))
		}
	}

	return sum
}

// asksFor returns how everything stands, or everything but a process that is about to end, if
// somebody may let something go wrong now: not before all has that he asked for.
func (w *World) asksFor(but *process) stand {
	if !w.followed() || !w.course.begun {
		return stand{}
	}
	if but != nil && (but.deposed || but.stopping || but.excused || len(but.snatched) > 0 || but.active > 1) {
		return stand{} // its end is another
	}

	return w.stands(but)
}

// objects are those of the users.
func (w *World) objects() []resource.Managed {
	if n := len(w.server.Changes(0)); n != w.trail.changes {
		w.trail.changes, w.trail.objects = n, w.users.all()
	}

	return w.trail.objects
}

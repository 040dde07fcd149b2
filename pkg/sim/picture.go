package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// A picture is of a world when no pass was under way. It does not change.
type picture struct {
	at    time.Duration
	found bool // that for which the story waited until then
	steps int  // that had been made

	state     state
	deeds     deeds
	server    apiserver.Snapshot
	harbour   harbour
	told      int
	random    rand.PCG
	processes []*process
	recalls   map[objectstate.Key]objectstate.Record // what the reconciler of the one that lives remembers
}

// plain says whether all that matters of the world is in a picture.
func (w *World) plain() bool {
	c := &w.config

	return w.harbour != nil && !w.harbour.lists && len(w.harbour.subscribed) == 0 && c.Kind == berth.Kind &&
		c.Connecter == managed.ExternalConnecter(w.harbour) && !c.told && !c.limited && c.connects == nil && c.NewConnecter == nil && c.Behind == nil && c.replace == nil
}

// still says whether nothing is under way of which there is no picture.
func (w *World) still() bool {
	return w.plain() && len(w.events) == 0 && !w.over && !w.passing() && len(w.alive()) == 1 && !slices.ContainsFunc(w.processes, func(p *process) bool {
		return !p.dead && (p.held || p.stopping || p.outdated || p.deposed || p.excused || p.renewed.Load() != nil)
	})
}

// picture takes one. If nobody goes on from it, there are only the outlines of processes in it.
func (w *World) picture(whole bool) picture {
	shot := picture{
		at: w.since(), steps: w.course.skipped + len(w.trace), state: w.state.clone(), deeds: w.users.deeds.clone(), server: w.server.Snapshot(),
		harbour: w.harbour.copied(), told: w.told.told, random: *w.source,
	}
	for _, p := range w.processes {
		of := p.outline()
		if whole && !p.dead {
			of.has(p)
			shot.recalls = p.states.Snapshot()
		}
		shot.processes = append(shot.processes, of)
	}

	return shot
}

// restore makes the world what a picture shows, when it is time for that.
func (w *World) restore(shot picture) {
	shot.state, shot.deeds, shot.harbour = shot.state.clone(), shot.deeds.clone(), shot.harbour.copied()
	w.glances(shot)
}

// glances makes the world what a picture shows, for a story that is on its way to another picture. What is in maps is
// shared with the picture, and the story may write there: what it decides by does not depend on that, and the next
// picture takes the place of all of it.
func (w *World) glances(shot picture) {
	wait(shot.at - w.since())
	w.state, w.users.deeds, w.told.told, *w.source = shot.state, shot.deeds, shot.told, shot.random
	w.server.Restore(shot.server)
	*w.harbour = shot.harbour
	w.events, w.trail, w.course.skipped = nil, trail{}, shot.steps
	w.processes = w.processes[:0]
	for _, of := range shot.processes {
		p := of.outline()
		p.world, p.meters, p.cancel = w, w.meters, func() {}
		w.processes = append(w.processes, p)
		if of.cache != nil {
			p.has(of)
			p.cache.server = w.server
			p.ctx, p.cancel = context.WithCancel(context.Background())
			p.equip()
			p.states.Restore(shot.recalls)
		}
	}
}

// outline returns what there is to tell of a process when it is dead.
func (p *process) outline() *process {
	return &process{number: p.number, began: p.began, clock: p.clock, dead: p.dead}
}

// has gives the process what another of the same outline has, but for what it lives in.
func (p *process) has(of *process) {
	p.cache, p.queue, p.turns = of.cache.copied(), of.queue.copied(), of.turns.copied()
	p.knows = acquaintance{maps.Clone(of.knows.read), maps.Clone(of.knows.wrote), maps.Clone(of.knows.attempts)}
	p.mutations, p.snatched, p.tried = maps.Clone(of.mutations), maps.Clone(of.snatched), maps.Clone(of.tried)
	p.looked, p.observed = maps.Clone(of.looked), maps.Clone(of.observed)
	p.unstored, p.asksSecret = of.unstored, of.asksSecret
	p.details, p.mind, p.unanswered = of.details, of.mind, maps.Clone(of.unanswered)
}

func (c *cache) copied() *cache {
	out := *c
	out.objects, out.lent = maps.Clone(c.objects), nil // between passes nobody has any in his hands

	return &out
}

func (q *queue) copied() *queue {
	out := *q
	out.items, out.working, out.failures = cloned(q.items), maps.Clone(q.working), maps.Clone(q.failures)

	return &out
}

func (t turns) copied() turns {
	t.asked, t.under, t.still = maps.Clone(t.asked), maps.Clone(t.under), maps.Clone(t.still)

	return t
}

func (d deeds) clone() deeds {
	d.adopted, d.released, d.left, d.answered = maps.Clone(d.adopted), maps.Clone(d.released), maps.Clone(d.left), maps.Clone(d.answered)
	d.manifests, d.wrote, d.names, d.times = maps.Clone(d.manifests), maps.Clone(d.wrote), maps.Clone(d.names), maps.Clone(d.times)

	return d
}

func (h *harbour) copied() harbour {
	out := *h
	out.places = nil
	for _, p := range h.places {
		out.places = append(out.places, new(*p))
	}
	out.created, out.deleted = maps.Clone(h.created), maps.Clone(h.deleted)

	return out
}

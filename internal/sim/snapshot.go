package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A Snapshot is the state of a world between two passes. It is immutable.
type Snapshot struct {
	at    time.Duration
	steps int // operations before it

	state     state
	users     userActions
	server    apiserver.Snapshot
	system    extSystem
	events    int
	random    rand.PCG
	processes []*process
	records   map[objectstate.Key]objectstate.Record // what the reconciler of the running process remembers
}

// Snapshotable returns whether snapshots are possible in this world. They are not if a part of the world has state that
// a snapshot does not contain, such as the external system of a caller.
func (w *World) Snapshotable() bool {
	c := &w.config

	return w.system != nil && !w.system.lists && len(w.system.subscribed) == 0 && c.Kind == bucket.Kind &&
		c.Connecter == managed.ExternalConnecter(w.system) && !c.notifies && !c.limited && c.connects == nil &&
		c.NewConnecter == nil && c.Behind == nil && c.replace == nil && c.CollectsGarbage == 0
}

// Quiescent returns whether a run can continue from a snapshot that is taken now. It cannot if something is in
// progress, such as a pass or the end of a process.
func (w *World) Quiescent() bool {
	return w.Snapshotable() && len(w.events) == 0 && !w.over && !w.passInProgress() && len(w.alive()) == 1 &&
		!slices.ContainsFunc(w.processes, func(p *process) bool {
			return !p.dead && (p.leadership.held || p.ending.stopping || p.restored.outdated || p.leadership.deposed ||
				p.leadership.excused || p.leadership.renewed.Load() != nil)
		})
}

// Snapshot returns the state of the world. If whole is false, the snapshot has only the outlines of processes, and no
// run can continue from it.
func (w *World) Snapshot(whole bool) Snapshot {
	shot := Snapshot{
		at: w.since(), steps: w.guided.skipped + len(w.trace), state: w.state.clone(),
		users: w.users.userActions.clone(), server: w.server.Snapshot(),
		system: w.system.clone(), events: w.sinks.events, random: *w.random.source,
	}
	for _, p := range w.processes {
		of := p.outline()
		if whole && !p.dead {
			of.copyFrom(p)
			shot.records = p.runtime.states.Snapshot()
		}
		shot.processes = append(shot.processes, of)
	}

	return shot
}

// Restore waits until the time of a snapshot, and sets the state of the world to a copy of it.
func (w *World) Restore(shot Snapshot) {
	shot.state, shot.users, shot.system = shot.state.clone(), shot.users.clone(), shot.system.clone()
	w.RestoreShared(shot)
}

// RestoreShared is Restore without a copy: the world uses the maps of the snapshot, and writes to them. Use it only if
// the run restores another snapshot before a decision depends on these maps.
func (w *World) RestoreShared(shot Snapshot) {
	wait(shot.at - w.since())
	w.state, w.users.userActions, w.sinks.events, *w.random.source = shot.state, shot.users, shot.events, shot.random
	w.server.Restore(shot.server)
	*w.system = shot.system
	w.events, w.trail, w.guided.skipped = nil, trail{}, shot.steps
	w.processes = w.processes[:0]
	for _, of := range shot.processes {
		p := of.outline()
		p.world, p.runtime.meters, p.cancel = w, w.sinks.meters, func() {}
		w.processes = append(w.processes, p)
		if of.cache != nil {
			p.copyFrom(of)
			p.cache.server = w.server
			p.ctx, p.cancel = context.WithCancel(context.Background())
			p.equip()
			p.runtime.states.Restore(shot.records)
		}
	}
}

// outline returns the part of a process that stays known after the process has ended.
func (p *process) outline() *process {
	return &process{number: p.number, began: p.began, clock: p.clock, dead: p.dead}
}

// copyFrom copies the state of another process, but not its world, its context and its reconciler.
func (p *process) copyFrom(of *process) {
	p.cache, p.queue, p.turns = of.cache.clone(), of.queue.clone(), of.turns.clone()
	p.known, p.observed, p.knowledge = of.known.clone(), of.observed.clone(), of.knowledge
	p.inPass.mutations, p.inPass.raceDeleted, p.inPass.attempted = maps.Clone(of.inPass.mutations),
		maps.Clone(of.inPass.raceDeleted), maps.Clone(of.inPass.attempted)
	p.inPass.asksSecret, p.inPass.details = of.inPass.asksSecret, of.inPass.details
}

func (o observed) clone() observed {
	return observed{order: maps.Clone(o.order), generation: maps.Clone(o.generation)}
}

func (c *cache) clone() *cache {
	out := *c
	out.objects, out.aliases = maps.Clone(c.objects), nil // between passes no reader uses one

	return &out
}

func (q *queue) clone() *queue {
	out := *q
	out.items, out.working, out.failures = cloned(q.items), maps.Clone(q.working), maps.Clone(q.failures)

	return &out
}

func (t turns) clone() turns {
	t.asked, t.event = maps.Clone(t.asked), maps.Clone(t.event)
	t.under, t.still = maps.Clone(t.under), maps.Clone(t.still)

	return t
}

func (d userActions) clone() userActions {
	d.adopted, d.released, d.left, d.answered = maps.Clone(d.adopted), maps.Clone(d.released), maps.Clone(d.left),
		maps.Clone(d.answered)
	d.manifests, d.wrote, d.names, d.times = maps.Clone(d.manifests), maps.Clone(d.wrote), maps.Clone(d.names),
		maps.Clone(d.times)

	return d
}

func (h *extSystem) clone() extSystem {
	out := *h
	out.resources = nil
	for _, p := range h.resources {
		out.resources = append(out.resources, new(*p))
	}
	out.created, out.deleted = maps.Clone(h.created), maps.Clone(h.deleted)

	return out
}

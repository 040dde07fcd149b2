package sim

import (
	"fmt"
	"slices"
	"time"
)

// A runCache has the runs that ended without a violation, by the state hash at the beginning of each of their passes. A
// run with no faults left to inject stops when it reaches such a state, because what follows is the same.
type runCache map[uint64][]finishedRun

// A finishedRun is the remainder of a run after the beginning of a pass.
type finishedRun struct {
	before totals // of the run up to that pass
	rest   totals // from that pass to its end

	excuses excuses
	after   int // faults that could still have followed
}

// A totals counts what is judged over a whole run.
type totals struct {
	lived                            time.Duration
	passes, writes, events, requests int

	made int // external resources created (high bits) and deleted
}

func (a totals) plus(b totals) totals {
	return totals{a.lived + b.lived, a.passes + b.passes, a.writes + b.writes, a.events + b.events,
		a.requests + b.requests, a.made + b.made}
}

func (a totals) minus(b totals) totals {
	return totals{a.lived - b.lived, a.passes - b.passes, a.writes - b.writes, a.events - b.events,
		a.requests - b.requests, a.made - b.made}
}

// A visit is a pass that began after the last fault.
type visit struct {
	hash   stateHash
	totals totals
}

// A query is what an Explorer asks of a run in addition to its result.
type query struct {
	hashes     bool        // record the state hash at each boundary at which another fault may follow
	last       boundary    // the boundary of the last fault of the schedule; others follow after it
	arrival    *arrival    // how the run has to reach that boundary; nil if that is not checked
	judged     bool        // another run judged everything before that boundary
	after      int         // how many faults may follow
	doubts     bool        // the faults that follow may be doubts
	runs       runCache    // finished runs; nil if this run has to go on to its own end
	steps      []entry     // a slice to reuse for the steps
	resumeFrom *checkpoint // nil if the run has to start from its own beginning
	recordTo   *checkpoint // nil if no other run needs snapshots of this one
}

// An arrival is how a run reaches a boundary. Two runs that are alike up to a boundary reach it alike.
type arrival struct {
	steps         int // before it
	at            time.Duration
	process, pass int
	fired         int // faults before it
}

// An exploration is the state of a query during a run.
type exploration struct {
	query   *query
	visits  []visit
	begun   bool   // the last fault of the schedule was injected
	joined  bool   // a finished run has the rest of this one
	rest    totals // of that finished run
	waited  int    // how many waits of the scenario have begun
	skipped int    // steps that another run made for this one

	settling time.Time // when the current wait for the desired state began
	rested   int       // faults before the current wait in which nothing may change
}

// setQuery sets the query of a run. A run starts from its own beginning if its whole trace is wanted, if its options
// may remember something, or if it begins at another time than the run of the checkpoint.
func (w *World) setQuery(i *query) {
	if w.exploration.query = i; i == nil {
		return
	}
	w.exploration.begun, w.trace = i.last.n == 0, i.steps
	if w.verbose || w.config.foreign {
		i.resumeFrom, i.recordTo = nil, nil
	}
	if a := i.resumeFrom; a != nil && !a.began.Equal(w.began) {
		if i.resumeFrom = nil; i.recordTo != nil {
			*i.recordTo = checkpoint{pass: i.recordTo.pass}
		}
	}
	if i.recordTo != nil {
		i.recordTo.began = w.began
	}
}

// reached records that a process has reached a boundary.
func (w *World) reached(p *process, at boundary) {
	i := w.exploration.query
	if i == nil || i.last != at {
		return
	}
	w.exploration.begun = true
	if i.recordTo != nil {
		i.recordTo.full = i.recordTo.last != nil
	}
	come := arrival{w.exploration.skipped + len(w.trace), w.since(), p.number, p.making, w.fired}
	if i.arrival != nil && come != *i.arrival {
		panic(fmt.Sprintf("a run came to %v as %+v, and the one that it stands for as %+v: they differ", at, come,
			*i.arrival))
	}
}

// judgedBefore says whether another run judged everything that happens now. Checks without an effect are skipped then.
func (w *World) judgedBefore() bool {
	c := &w.exploration

	return !c.begun && c.query != nil && c.query.judged && !w.verbose
}

// queried says whether an Explorer needs state hashes and they can be computed: of an external system outside this
// package it is not known what matters.
func (w *World) queried() bool { return w.exploration.query != nil && w.system != nil }

// hashing says whether another fault may follow, so that the answers to a pass have to be recorded.
func (w *World) hashing() bool { return w.queried() && w.exploration.query.hashes }

func (w *World) totals() totals {
	a := totals{lived: w.since(), events: w.sinks.events}
	for _, n := range w.served {
		a.passes += n
	}
	for _, n := range w.writes {
		a.writes += n
	}
	for _, l := range w.loads {
		a.requests += l.requests
	}
	for uid, n := range w.system.created {
		a.made += n<<16 + w.system.deleted[uid]
	}

	return a
}

// joinsCachedRun says whether a finished run has the rest of this one. It is called at the beginning of a pass, and
// ends the run if so.
func (w *World) joinsCachedRun() bool {
	c := &w.exploration
	if !w.queried() || c.query.runs == nil || c.joined || !w.undisturbed() {
		return false
	}
	for _, p := range w.alive() {
		p.memory = p.fingerprint()
	}
	s, a := w.stateHash(nil), w.totals()
	s.sum = mixed(s.sum, bit(w.resting && w.fired == c.rested))
	for _, p := range w.alive() {
		for _, n := range p.queue.failures {
			s.sum = mixed(s.sum, uint64(n))
		}
	}
	i := slices.IndexFunc(c.query.runs[s.sum], func(e finishedRun) bool {
		return e.after >= c.query.after && e.excuses.within(s.excuses) && w.withinBounds(a, e)
	})
	c.visits = append(c.visits, visit{s, a})
	if i >= 0 {
		c.joined, c.rest, w.over = true, c.query.runs[s.sum][i].rest, true
	}

	return c.joined
}

// undisturbed says whether no fault is in effect or left to be injected, and no process is in an unusual state.
func (w *World) undisturbed() bool {
	if w.fired < w.planned || len(w.events) > 0 || !w.reachableFor(time.Nanosecond) {
		return false
	}

	return !slices.ContainsFunc(w.processes, func(p *process) bool {
		return !p.dead && (p.stopping || p.held || p.outdated || p.active > 1 || w.now().Before(p.cache.frozen))
	})
}

// withinBounds says whether this run, continued by the rest of a finished one, stays within the bounds that are judged
// over a whole run, however the rest is distributed over hours.
func (w *World) withinBounds(a totals, e finishedRun) bool {
	if !w.users.acted && len(w.exemptions) == 0 && a.made != e.before.made || w.now().Sub(w.exploration.settling)+
		e.rest.lived > patience {
		return false
	}
	lives := 1
	for _, n := range w.users.times {
		lives = max(lives, n)
	}
	sum := a.plus(e.rest)

	return sum.passes <= 40*lives+30*w.planned && sum.requests <= 150+120*lives+60*w.planned &&
		sum.writes <= w.mostWrites(lives) && sum.events <= 8+6*w.planned
}

// cacheRun adds a run that ended without a violation to the cache.
func (w *World) cacheRun() {
	c := &w.exploration
	if !w.queried() || c.query.runs == nil || len(w.violation) > 0 || len(w.excusedKinds()) > 0 || w.late > 0 ||
		len(w.freed) > 0 || w.over && !c.joined || w.fired < w.planned {
		return
	}
	final, visits := w.totals(), c.visits
	if c.joined {
		final, visits = visits[len(visits)-1].totals, visits[:len(visits)-1]
	}
	for _, v := range visits {
		known := c.query.runs[v.hash.sum]
		if !slices.ContainsFunc(known, func(e finishedRun) bool {
			return e.after >= c.query.after && e.excuses.within(v.hash.excuses) &&
				(e.before.made == v.totals.made || v.hash.excuses&1 != 0)
		}) {
			rest := final.minus(v.totals).plus(c.rest)
			rest.requests = max(rest.requests, 0) // they are counted by the hour
			c.query.runs[v.hash.sum] = append(known, finishedRun{v.totals, rest, v.hash.excuses, c.query.after})
		}
	}
}

package sim

import (
	"fmt"
	"slices"
	"time"
)

// A run in which nothing more goes wrong need not go on once everything stands as it
// once stood in another, which ended well: what follows is the same. Ends are those of
// such runs, by how everything stood when one of their passes began.
type ends map[uint64][]end

// An end is what was to come when a pass began.
type end struct {
	stood account // what there had been until then
	rest  account // and what there was after that

	excuses excuses
	after   int // faults that might have followed
}

// An account is of what is judged over a whole run.
type account struct {
	lived                          time.Duration
	passes, writes, told, requests int

	made int // and deleted outside
}

func (a account) plus(b account) account {
	return account{a.lived + b.lived, a.passes + b.passes, a.writes + b.writes, a.told + b.told, a.requests + b.requests, a.made + b.made}
}

func (a account) minus(b account) account {
	return account{a.lived - b.lived, a.passes - b.passes, a.writes - b.writes, a.told - b.told, a.requests - b.requests, a.made - b.made}
}

// A visit is a pass that began when nothing more was to go wrong.
type visit struct {
	stand   stand
	account account
}

// An inquiry is what an Explorer wants to know of a run beside its result.
type inquiry struct {
	stands bool     // how everything stood at each boundary at which a fault may follow
	last   boundary // after which it may: the last that the schedule names
	comes  *arrival // how the run comes there if it is the one it stands for
	known  bool     // what came before that was judged in a run without it
	after  int      // how many faults may follow
	doubts bool     // these may be doubts
	ends   ends     // of other runs; nil if this one is to go on to its own
	steps  []entry  // room for the steps
	from   *album   // of one that begins alike; nil if there is none
	to     *album   // for others that do; nil if nobody needs more of them
}

// An arrival is how a run comes to a boundary. Two that were alike until then come to it alike.
type arrival struct {
	steps         int // before it
	at            time.Duration
	process, pass int
	fired         int // faults before it
}

// A course is what an inquiry has come to.
type course struct {
	inquiry *inquiry
	visits  []visit
	begun   bool    // the last fault that the schedule names has come
	joined  bool    // what is to come is known
	rest    account // and this is in it
	waits   int     // how often the story has waited for something
	skipped int     // steps that were made in another run

	settling time.Time // since when everything is to become as asked for
	rested   int       // faults that there were when nothing was to happen any more
}

// inquires sets what somebody wants to know of the run. One whose whole trace is wanted, one
// with options that may remember something, and one that begins at another time than the
// run of which there are pictures, begins at its own beginning.
func (w *World) inquires(i *inquiry) {
	if w.course.inquiry = i; i == nil {
		return
	}
	w.course.begun, w.trace = i.last.n == 0, i.steps
	if w.verbose || w.config.foreign {
		i.from, i.to = nil, nil
	}
	if a := i.from; a != nil && !a.began.Equal(w.began) {
		if i.from = nil; i.to != nil {
			*i.to = album{before: i.to.before}
		}
	}
	if i.to != nil {
		i.to.began = w.began
	}
}

// comesTo notes a boundary that a process is come to.
func (w *World) comesTo(p *process, at boundary) {
	i := w.course.inquiry
	if i == nil || i.last != at {
		return
	}
	w.course.begun = true
	if i.to != nil {
		i.to.full = i.to.last != nil
	}
	come := arrival{w.course.skipped + len(w.trace), w.since(), p.number, p.making, w.fired}
	if i.comes != nil && come != *i.comes {
		panic(fmt.Sprintf("a run came to %v as %+v, and the one that it stands for as %+v: they differ", at, come, *i.comes))
	}
}

// repeats says whether all that happens now has happened in a run that was judged: what needs
// no more than to be looked at was looked at there.
func (w *World) repeats() bool {
	c := &w.course

	return !c.begun && c.inquiry != nil && c.inquiry.known && !w.verbose
}

// inquired says whether somebody wants to know how everything stands, and it can be told:
// nobody knows what matters of others' systems.
func (w *World) inquired() bool { return w.course.inquiry != nil && w.harbour != nil }

// followed says whether a fault may follow what happens, so that somebody wants to know what
// passes are told.
func (w *World) followed() bool { return w.inquired() && w.course.inquiry.stands }

func (w *World) account() account {
	a := account{lived: w.since(), told: w.told.told}
	for _, n := range w.served {
		a.passes += n
	}
	for _, n := range w.writes {
		a.writes += n
	}
	for _, l := range w.loads {
		a.requests += l.requests
	}
	for uid, n := range w.harbour.created {
		a.made += n<<16 + w.harbour.deleted[uid]
	}

	return a
}

// joins says whether all that is to come is known as a pass begins, and ends the run if
// it is.
func (w *World) joins() bool {
	c := &w.course
	if !w.inquired() || c.inquiry.ends == nil || c.joined || !w.calm() {
		return false
	}
	for _, p := range w.alive() {
		p.memory = p.remembers()
	}
	s, a := w.stands(nil), w.account()
	s.hash = mixed(s.hash, bit(w.resting && w.fired == c.rested))
	for _, p := range w.alive() {
		for _, n := range p.queue.failures {
			s.hash = mixed(s.hash, uint64(n))
		}
	}
	i := slices.IndexFunc(c.inquiry.ends[s.hash], func(e end) bool {
		return e.after >= c.inquiry.after && e.excuses.within(s.excuses) && w.bears(a, e)
	})
	c.visits = append(c.visits, visit{s, a})
	if i >= 0 {
		c.joined, c.rest, w.over = true, c.inquiry.ends[s.hash][i].rest, true
	}

	return c.joined
}

// calm says whether nothing is under way but what everybody does by himself.
func (w *World) calm() bool {
	if w.fired < w.planned || len(w.events) > 0 || !w.inReach(time.Nanosecond) {
		return false
	}

	return !slices.ContainsFunc(w.processes, func(p *process) bool {
		return !p.dead && (p.stopping || p.held || p.outdated || p.active > 1 || w.now().Before(p.cache.frozen))
	})
}

// bears says whether what is to come is not too much after what has been, however it is
// spread over hours, and comes in time.
func (w *World) bears(a account, e end) bool {
	if !w.users.acted && len(w.exemptions) == 0 && a.made != e.stood.made || w.now().Sub(w.course.settling)+e.rest.lived > patience {
		return false
	}
	lives := 1
	for _, n := range w.users.times {
		lives = max(lives, n)
	}
	sum := a.plus(e.rest)

	return sum.passes <= 40*lives+30*w.planned && sum.requests <= 150+120*lives+60*w.planned &&
		sum.writes <= w.mostWrites(lives) && sum.told <= 8+6*w.planned
}

// learns from a run that ended well what is to come where it has been.
func (w *World) learns() {
	c := &w.course
	if !w.inquired() || c.inquiry.ends == nil || len(w.violation) > 0 || len(w.excusedKinds()) > 0 || w.late > 0 || len(w.freed) > 0 || w.over && !c.joined || w.fired < w.planned {
		return
	}
	final, visits := w.account(), c.visits
	if c.joined {
		final, visits = visits[len(visits)-1].account, visits[:len(visits)-1]
	}
	for _, v := range visits {
		known := c.inquiry.ends[v.stand.hash]
		if !slices.ContainsFunc(known, func(e end) bool {
			return e.after >= c.inquiry.after && e.excuses.within(v.stand.excuses) && (e.stood.made == v.account.made || v.stand.excuses&1 != 0)
		}) {
			rest := final.minus(v.account).plus(c.rest)
			rest.requests = max(rest.requests, 0) // they are counted by the hour
			c.inquiry.ends[v.stand.hash] = append(known, end{v.account, rest, v.stand.excuses, c.inquiry.after})
		}
	}
}

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A Guide lets a search over many runs skip parts of a run that an earlier run has had. It starts a run from a snapshot
// of an earlier run with the same beginning, and takes snapshots for later runs. It ends a run in a state from which an
// earlier run has continued to its end. All methods are called on the goroutine of the world.
type Guide interface {
	// Start is called before anything happens. It returns the settings of the run.
	Start(w *World) Guidance
	// Resume is called when a wait of the scenario begins. The first wait has the number one. The guide may restore a
	// snapshot. If the snapshot was taken at the end of this wait, ended is true, and found is the result of the wait.
	Resume(w *World, wait int) (found, ended bool)
	// BeforePass is called before each pass (a reconcile of an object), and whenever time may pass, until the last fault
	// is injected.
	BeforePass(w *World, wait int)
	// EndWait is called at the end of each wait of the scenario until the last fault is injected.
	EndWait(w *World, found bool)
	// Reach is called when the run reaches the boundary of the last fault.
	Reach(at Arrival)
	// Join is called at the beginning of each pass after the last fault, with the hash of the state and the totals of the
	// run so far. If it returns true, the run ends, because the guide knows the rest of the run from an earlier one.
	Join(w *World, at StateHash, before Totals) bool
	// End is called after all checks of the run.
	End(w *World)
}

// A Guidance has the settings that a guide chooses for a run.
type Guidance struct {
	Last      Boundary // the boundary of the last fault of the schedule; a search may add faults after it
	ResumesIn int      // the wait of the scenario in which the run resumes; 0: it does not resume
	Judged    bool     // another run has checked everything before Last
	Hashes    bool     // record the state hash at each boundary after Last
	Doubts    bool     // the faults after Last may be doubts
	Joins     bool     // call Guide.Join after the last fault
	Steps     []Step   // a slice that the run may reuse for its steps
}

// An Arrival describes how a run has come to a boundary.
type Arrival struct {
	Steps         int // number of operations before the boundary
	At            time.Duration
	Process, Pass int
	Fired         int // number of faults before the boundary
}

// follow sets the guide of the run. Nil means that there is none.
func (w *World) follow(g Guide) {
	if w.guided.guide = g; g == nil {
		return
	}
	w.guided.Guidance = g.Start(w)
	w.guided.begun, w.trace = w.guided.Last.N == 0, w.guided.Steps
}

// resume starts a wait of the scenario. The guide may already have the end of the wait.
func (w *World) resume() (found, ended bool) {
	g := &w.guided
	g.waited++
	if g.guide == nil {
		return false, false
	}

	return g.guide.Resume(w, g.waited)
}

// beforePass lets the guide take a snapshot.
func (w *World) beforePass() {
	if g := &w.guided; g.guide != nil && !g.begun {
		g.guide.BeforePass(w, g.waited)
	}
}

// endWait lets the guide take a snapshot at the end of a wait of the scenario.
func (w *World) endWait(found bool) {
	if g := &w.guided; g.guide != nil && !g.begun {
		g.guide.EndWait(w, found)
	}
}

// reached reports to the guide that a process has reached the boundary of the last fault.
func (w *World) reached(p *process, at Boundary) {
	g := &w.guided
	if g.guide == nil || g.Last != at {
		return
	}
	g.begun = true
	g.guide.Reach(Arrival{g.skipped + len(w.trace), w.since(), p.number, p.making, w.fired})
}

// joins asks the guide whether the rest of the run is known, and ends the run if so. It is called at the beginning of a
// pass.
func (w *World) joins() bool {
	g := &w.guided
	if !w.queried() || !g.Joins || g.joined || !w.undisturbed() {
		return false
	}
	for _, p := range w.alive() {
		p.memory = p.fingerprint()
	}
	s := w.stateHash(nil)
	s.Sum = mixed(s.Sum, bit(w.script.resting && w.fired == g.rested))
	for _, p := range w.alive() {
		for _, n := range p.queue.failures {
			s.Sum = mixed(s.Sum, uint64(n))
		}
	}
	if g.guide.Join(w, s, w.Totals()) {
		g.joined, w.over = true, true
	}

	return g.joined
}

// undisturbed returns whether no fault is in effect or left to be injected, and no process is in an unusual state.
func (w *World) undisturbed() bool {
	if w.fired < w.plan.count || len(w.events) > 0 || !w.reachableFor(time.Nanosecond) {
		return false
	}

	return !slices.ContainsFunc(w.processes, func(p *process) bool {
		return !p.dead && (p.ending.stopping || p.leadership.held || p.restored.outdated || p.inPass.active > 1 ||
			w.now().Before(p.cache.frozen))
	})
}

// endGuided reports to the guide that the run was judged.
func (w *World) endGuided() {
	if w.queried() {
		w.guided.guide.End(w)
	}
	w.guided.joined = false
}

// mustBegin panics if the run did not reach its last fault although another run did.
func (w *World) mustBegin(s Schedule) {
	if g := &w.guided; g.guide != nil && !g.begun && len(w.violation) == 0 {
		panic(fmt.Sprintf("%s never came to its last fault, which another run came to: two runs of a schedule differ", s))
	}
}

// judgedBefore returns whether another run has checked everything that happens now. Checks that only read are then
// skipped.
func (w *World) judgedBefore() bool {
	g := &w.guided

	return !g.begun && g.Judged && !w.verbose
}

// replaying returns whether the run has not yet reached the snapshot that it resumes from. Until then, actions of users
// have no effect, because the snapshot contains them.
func (w *World) replaying() bool { return w.guided.waited < w.guided.ResumesIn }

// hashing returns whether another fault may follow. The answers to a pass then have to be recorded.
func (w *World) hashing() bool { return w.guided.Hashes && w.queried() }

// queried returns whether a guide needs state hashes and they can be computed. They cannot be computed for an external
// system outside this package.
func (w *World) queried() bool { return w.guided.guide != nil && w.system != nil }

// Began returns the time at which the run began.
func (w *World) Began() time.Time { return w.began }

// Passes returns the number of passes (reconciles of an object) that have begun.
func (w *World) Passes() int { return w.work.passes }

// Resumable returns whether the run can start from a snapshot. It returns false if the caller requests a complete
// trace, or passes options of the reconciler, which may have a state of their own.
func (w *World) Resumable() bool { return !w.verbose && !w.config.foreign }

// Clean returns whether the run injected all its faults and ended without a violation and without an excuse.
func (w *World) Clean() bool {
	return len(w.violation) == 0 && len(w.excusedKinds()) == 0 && w.exempt.late == 0 && len(w.exempt.freed) == 0 &&
		(!w.over || w.guided.joined) && w.fired >= w.plan.count
}

// Changes returns all writes to the API server, in order.
func (w *World) Changes() []apiserver.Change { return w.server.Changes(0) }

// A guided is the progress of a run with a guide.
type guided struct {
	Guidance

	guide   Guide // nil: there is none
	begun   bool  // the last fault of the schedule was injected
	joined  bool  // the rest of the run is known
	waited  int   // how many waits of the scenario have begun
	skipped int   // steps that another run made for this one

	settling time.Time // when the current wait for the desired state began
	rested   int       // faults before the current wait in which nothing may change
}

package sim

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Result is the result of one run of a schedule.
type Result struct {
	Schedule   Schedule
	Violations []Violation
	Blocked    int           // number of objects that a simulated operator had to resolve
	Passes     int           // number of passes of all processes
	Lived      time.Duration // virtual time of the run
	Processes  int           // number of processes, one after another or at once
	Together   int           // maximum number of processes at a time
	AtOnce     int           // maximum number of passes of one process at a time
	Overdue    int           // number of passes that a process began after another process had become the leader
	Clocks     int           // number of different clocks of processes
	Excused    []Kind        // kinds of faults that excused a violation
	Ended      []Kind        // kinds of faults in which a user removed the finalizer during the deletion
	// kinds of faults after which a pass changed an external resource before it had read the last change of users
	Late       []Kind
	Lost       []Kind   // kinds of faults that lost the result of a Create, so that an object was blocked
	Unreported bool     // a resource is left over, and the error of its Create did not say that it may exist
	Trace      []string // if it was requested

	steps   []Step
	counts  map[string]int // of all operations
	skipped int            // steps before them, which another run made for this one
}

// Steps returns the operations of the run. It omits the operations that the run skipped because a search knows them
// from another run.
func (r Result) Steps() []Step { return r.steps }

// Skipped returns the number of skipped operations before the first step.
func (r Result) Skipped() int { return r.skipped }

// Boundaries returns the number of operations of the run, including the skipped ones before the first step. If a search
// ended the run early, operations after that are not counted.
func (r Result) Boundaries() int { return r.skipped + len(r.steps) }

// Operations returns the names of the operations of the run, sorted and without duplicates.
func (r Result) Operations() []string { return slices.Sorted(maps.Keys(r.counts)) }

// run is RunBehind with a function that changes the world before anything happens.
func (m *Simulator) run(s Schedule, trace bool, behind func() client.Client, change func(*World),
	o ...managed.ReconcilerOption) (Result, error) {
	quietly()
	grow()
	w, of, err := m.prepare(s, behind)
	if err != nil {
		return Result{}, err
	}
	w.config.Options, w.config.foreign = append(w.config.Options, o...), len(o) > 0
	w.verbose = trace
	w.follow(s.guide)
	change(w)
	if w.guided.ResumesIn == 0 { // otherwise a snapshot has the processes
		w.start(stepped{}, 0)
	}
	w.runAndJudge(s, of)
	w.mustBegin(s)

	return w.result(s), nil
}

// grow makes room for deep calls while there is nothing on the stack yet. To move it later,
// step by step, takes longer.
//
// grow enlarges the stack while it is small: to enlarge it later, step by step, takes longer.
//
//go:noinline
func grow() {
	var room [24 << 10]byte
	touch(room[:])
}

//go:noinline
func touch(room []byte) { room[0] = 1 }

// runAndJudge runs a scenario and makes the checks over the complete run.
func (w *World) runAndJudge(s Schedule, of scenario) {
	w.story(of)
	if !w.guided.joined {
		w.judgeWork(w.plan.count)
		w.judgeEnding(s, of.looseEnding)
	}
	w.endGuided()
	w.end()
}

// A knownSequel is the panic that ends a scenario whose rest is known from a finished run.
type knownSequel struct{}

// story runs a scenario, until its rest is known.
func (w *World) story(of scenario) {
	defer func() {
		if r := recover(); r != nil && r != any(knownSequel{}) {
			panic(r)
		}
	}()
	of.run(w)
}

func (w *World) end() {
	w.judgeCaches()
	for _, p := range w.alive() {
		p.dead = true
		p.cancel()
		p.background.requests.close()
	}
	for _, p := range w.processes {
		if p.ending.left != nil {
			<-p.ending.left // it retries for a while, without an effect
		}
	}
	w.judgeMetrics()
	if len(w.violation) == 0 {
		w.config.simulator.meters.Put(w.sinks.meters)
	}
}

func (w *World) result(s Schedule) Result {
	clocks := map[time.Duration]bool{}
	for _, p := range w.processes {
		clocks[p.clock.by] = true
	}

	excused := w.excusedKinds()
	if w.guided.guide != nil { // the steps are kept
		for i := range w.trace {
			w.trace[i].Op.mg = nil // frees memory that is not used any more
		}
	}

	return Result{
		Schedule: s, Violations: w.violation, Blocked: w.blocked, Passes: w.work.passes, Lived: w.since(),
		Processes: len(w.processes), Together: w.work.together, AtOnce: w.work.atOnce, Overdue: w.work.overdue,
		Clocks: len(clocks), Excused: excused, Late: w.exempt.stale.used(), Lost: w.exempt.lost.used(),
		Ended:      w.exempt.freed.used(),
		Unreported: w.leftUnreported(),
		steps:      w.trace, counts: w.counts, skipped: w.guided.skipped, Trace: w.sinks.lines,
	}
}

// prepare returns the world of a schedule.
func (m *Simulator) prepare(s Schedule, behind func() client.Client) (*World, scenario, error) {
	of, _ := scenarioOf(s.Scenario)
	c := classes[s.Class]
	if !Has(s.Scenario, s.Class) {
		return nil, scenario{}, errors.Errorf("cannot run %s: there are scenarios %v and classes %v", s, Scenarios(),
			Classes())
	}
	h := &extSystem{class: c, created: map[types.UID]int{}, deleted: map[types.UID]int{}}
	if of.system != nil {
		of.system(h)
	}
	w := m.newWorld(Config{
		Kind: bucket.Kind, Scheme: theScheme(), memory: m.memory, Behind: behind, Connecter: h, Lag: of.lag,
		Options: slices.Clone(c.options),
	}, append(slices.Clone(of.faults), s.Faults...))
	w.script.scenario, w.script.begins = of.name, of.begins
	w.external, w.system, h.leaksSecrets = h, h, w.plan.leaksSecrets
	w.users.edit = func(mg resource.Managed, n int) { resize(int64(n))(mg) }
	w.users.drift = func() {
		for _, p := range h.resources {
			if p.deleted.IsZero() && p.For != otherOwner {
				p.Size += 100
			}
		}
		h.changes++
	}
	if of.config != nil {
		of.config(w)
	}
	if of.expect != nil {
		w.script.expect = of.expect(w)
	}

	return w, of, nil
}

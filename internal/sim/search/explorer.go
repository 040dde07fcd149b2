package search

import (
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// An Explorer tries schedules of one scenario in one class. It omits schedules whose results cannot differ from those
// of an earlier run; see the package comment.
type Explorer struct {
	Scenario, Class string

	// Run runs a schedule in a bubble of testing/synctest. It is required.
	Run func(sim.Schedule) sim.Result

	// Depth is the maximum number of faults in a schedule, at least 1. With a depth of 2, every kind is combined with
	// every other, each with its usual duration. From a depth of 3 on, only those kinds are combined that lead to states
	// that the other kinds do not reach.
	Depth int

	// All combines faults of every kind at any depth. With both All and Apart, this also applies to the scenarios in which
	// by default only single faults are tried.
	All bool

	// Apart combines faults in all scenarios with one or two objects. By default, some scenarios have only single faults:
	// those with two objects, and those with a resource that drifts, becomes visible late, is deleted slowly, or has
	// connection details.
	Apart bool

	// Short omits faults that rarely lead to states that other faults do not reach.
	Short bool

	// Whole runs each schedule from its beginning to its end. By default, a run starts from a snapshot of a run with the
	// same beginning. After its last fault, it stops in a state from which another run ended without a violation.
	Whole bool

	// Doubts tries only doubts in place of the other faults (see sim.IsDoubt). From a depth of 2 on, each doubt is
	// combined with the death of a process, and with a user who changes, deletes or replaces the object.
	Doubts bool

	// Unpruned also tries combinations of faults whose run would repeat another run.
	Unpruned bool

	// Without has the kinds of faults to omit. The default is none.
	Without []sim.Kind

	// After is a finished Explorer of another scenario in the same class. While the two scenarios are identical, this
	// Explorer does not try again what the other one has tried. The default is nil.
	After *Explorer

	// Found is called with each result that has a violation. It is required.
	Found func(sim.Result)

	// Ran, Pruned, Blocked and Violated are counts so far.
	Ran, Pruned, Blocked, Violated int

	// Crossed says for each operation whether a fault was injected before it (index 0) and after it (index 1).
	Crossed map[string][2]bool

	// Restricted counts the faults that were not tried because a guarantee does not hold after them.
	Restricted map[sim.Kind]int

	cached cached
}

// A cached has what an Explorer stores between runs.
type cached struct {
	known map[searchKey][]explored
	runs  runCache
	kinds map[kindsKey][]sim.Variant
	steps []sim.Step // room for those of runs that nothing follows
}

// A kindsKey has the arguments of kindsOf.
type kindsKey struct {
	op                                   string
	external, mutates, combined, crashes bool
}

// A run is a result with the data that the following runs need.
type run struct {
	sim.Result

	steps       []sim.Step
	skipped     int          // steps before them, which another run made for this one
	checkpoints *checkpoints // for the runs that follow
}

// Explore runs the scenario without faults, with every single fault at every boundary, and with combinations of up to
// Depth faults. It returns the result of the run without faults.
func (e *Explorer) Explore() sim.Result {
	c := &e.cached
	c.known, c.kinds, e.Crossed = map[searchKey][]explored{}, map[kindsKey][]sim.Variant{}, map[string][2]bool{}
	if e.After != nil && e.After.Class == e.Class {
		c.known = e.After.cached.known
		if e.few() { // what it tries is not all that those after it would try
			c.known = maps.Clone(c.known)
			defer func() { c.known = e.After.cached.known }()
		}
	}
	if c.runs = nil; !e.Whole {
		c.runs = runCache{}
	}
	base := e.try(nil, &query{})
	base.checkpoints = &checkpoints{}
	if len(base.Violations) == 0 && e.depth() > 0 { // or else the faults prove nothing
		e.begin(base)
	}

	return base.Result
}

// begin tries every fault at every boundary, and then the faults that can follow them.
func (e *Explorer) begin(base run) {
	turns := make([]faultPoint, len(base.steps))
	for i := range base.steps {
		turns[i] = faultPoint{base, i}
		e.markExplored(turns[i])
	}
	var next []run
	for i, s := range base.steps {
		next = append(next, e.cross(turns[i], e.kindsOf(s.Op, e.Short, true))...)
	}
	e.combine(next, 2)
}

// cross runs a schedule again with each of some faults at a boundary, and returns the results after which more faults
// can follow.
func (e *Explorer) cross(t faultPoint, kinds []sim.Variant) (next []run) {
	s := t.step()
	talks := slices.ContainsFunc(t.run.Schedule.Faults, sim.Fault.LeaksSecrets)
	for _, v := range kinds {
		if !v.Kind.Applies(e.Class) || e.restricted(v) || slices.Contains(e.Without, v.Kind) {
			continue
		}
		f := sim.Fault{Op: s.Op.Name, N: s.N, Kind: v.Kind, For: v.For, Writes: v.Writes}
		sides := e.Crossed[s.Op.Name]
		sides[index(sim.IsAfter(v.Kind))] = true
		e.Crossed[s.Op.Name] = sides
		i := &query{arrival: &sim.Arrival{
			Steps: t.run.skipped + t.i, At: s.At, Process: s.Process, Pass: s.Pass, Fired: s.Fired,
		}}
		if !e.Whole {
			i.resumeFrom, i.recordTo = t.run.checkpoints.open(talks || f.LeaksSecrets(), s.Pass)
		}
		r := e.try(slices.Concat(t.run.Schedule.Faults, []sim.Fault{f}), i)
		if len(r.Violations) == 0 && slices.Contains(e.kindsOf(s.Op, e.few(), false), v) && e.combines(s.Op, v) {
			r.checkpoints = t.run.checkpoints.upTo(s.Pass) // what comes before this fault is the same
			next = append(next, r)
		}
	}

	return next
}

// try runs a schedule, with a query that is completed for this Explorer.
func (e *Explorer) try(faults []sim.Fault, i *query) run {
	i.hashes, i.doubts, i.after, i.runs = len(faults) < e.depth(), e.Doubts, e.depth()-len(faults), e.cached.runs
	if n := len(faults); n > 0 {
		i.last = sim.Boundary{Op: faults[n-1].Op, N: faults[n-1].N}
		// or else more is said from the beginning
		i.judged = !faults[n-1].LeaksSecrets() || slices.ContainsFunc(faults[:n-1], sim.Fault.LeaksSecrets)
	}
	reuse := !i.hashes && len(faults) > 0
	if reuse {
		i.steps, e.cached.steps = e.cached.steps, nil
	}
	s := sim.Schedule{Scenario: e.Scenario, Class: e.Class, Faults: faults}
	r := run{Result: e.Run(s.GuidedBy(&follower{query: i}))}
	r.Schedule = r.Schedule.GuidedBy(nil)
	r.steps, r.skipped = r.Steps(), r.Skipped()
	if reuse && len(r.Violations) == 0 {
		e.cached.steps, r.steps = r.steps[:0], nil
	}
	e.Ran++
	e.Blocked += r.Blocked
	if len(r.Violations) > 0 {
		e.Violated++
		e.Found(r.Result)
	}

	return r
}

// combines returns whether a fault is combined with others.
func (e *Explorer) combines(o sim.Operation, v sim.Variant) bool {
	return v.Usual() && (e.All || !sim.RarelyPaired(o, v.Kind))
}

// kindsOf returns the kinds of faults at an operation from a cache. The result is shared.
func (e *Explorer) kindsOf(o sim.Operation, combined, crashes bool) []sim.Variant {
	a := kindsKey{o.Name, o.External, o.Mutates, combined, crashes}
	kinds, known := e.cached.kinds[a]
	if !known {
		if kinds = sim.KindsAt(o, combined, crashes); e.Doubts {
			kinds = e.kindsInDoubt(o, combined)
		}
		e.cached.kinds[a] = kinds
	}

	return kinds
}

// depth returns the number of faults that are combined in this scenario.
func (e *Explorer) depth() int {
	s := sim.LimitsOf(e.Scenario)
	switch {
	case s.Faultless, s.SingleFaults && e.Short:
		return 0
	case s.SingleFaults && (!e.All || !e.Apart), s.OnlyApart && !e.Apart && !(s.Doubts && e.Doubts):
		return min(e.Depth, 1)
	default:
		return e.Depth
	}
}

// few returns whether only the faults are combined that lead to states that the others do not reach.
func (e *Explorer) few() bool {
	return !e.All && (e.Short || e.Depth > 2)
}

// index returns one for true, and zero for false.
func index(is bool) int {
	if is {
		return 1
	}

	return 0
}

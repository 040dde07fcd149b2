package sim

import (
	"math/rand/v2"
	"slices"
)

// An Explorer tries schedules of one scenario over one class, and remembers which
// need not be tried: two schedules that were alike up to a boundary are alike after
// the same fault at it.
type Explorer struct {
	Scenario, Class string

	// Run runs a schedule. It is given by the caller, who knows how to make time
	// pass.
	Run func(Schedule) Result

	// Depth is how many faults are combined exhaustively: one or more. From the
	// second on, only the kinds that matter in combination are tried.
	Depth int

	// All combines faults of every kind and length, in every scenario. The default is
	// to combine those that lead elsewhere than others do: another error, or a longer
	// wait, at the same boundary leaves the same behind.
	All bool

	// Apart combines faults in all lives of an object or two. The default is to leave it
	// at single faults in those of two, and of a resource that drifts, shows late, goes
	// slowly, or has connection details.
	Apart bool

	// Short leaves out single faults that are not combined with others.
	Short bool

	// Found is called with each result that violates something, or that an
	// operator had to help.
	Found func(Result)

	// Figures so far.
	Ran, Pruned, Blocked, Violated int

	// Crossed are the operations that were met with a fault before and after
	// them.
	Crossed map[string][2]bool

	seen map[state]bool
}

// A state is what came before a boundary, and the fault at it. Before a first fault
// that is every operation, with its time. Before those that follow it is how
// everything stood when the pass began (the objects, what is outside, what the
// process has done so far) and what the pass has done since: a fault that was
// mended, and a provider that looks again and again while it waits, lead to nothing
// new.
type state struct {
	before uint64
	first  bool
	op     string
	variant
}

func stateAt(at entry, v variant, depth int) state {
	if depth == 1 {
		return state{at.before, true, at.op.name, v}
	}

	return state{at.alike, false, at.op.name, v}
}

// Explore runs the scenario without faults, and with every fault at every boundary
// up to the depth. The first result is returned.
func (e *Explorer) Explore() Result {
	e.seen, e.Crossed = map[state]bool{}, map[string][2]bool{}
	base := e.try(nil)
	if len(base.Violations) == 0 && e.depth() > 0 { // or else the faults prove nothing
		e.extend(base, 0, 1)
	}

	return base
}

// Depth is how many faults are combined in this scenario.
func (e *Explorer) depth() int {
	s, _ := scenarioOf(e.Scenario)
	switch {
	case s.calm, s.single && e.Short:
		return 0
	case s.single && !e.All, s.apart && !e.All && !e.Apart:
		return min(e.Depth, 1)
	default:
		return e.Depth
	}
}

func (e *Explorer) try(faults []Fault) Result {
	r := e.Run(Schedule{Scenario: e.Scenario, Class: e.Class, Faults: faults})
	e.Ran++
	e.Blocked += r.Blocked
	if len(r.Violations) > 0 {
		e.Violated++
		e.Found(r)
	}

	return r
}

// Extend tries every fault at every boundary from one on.
func (e *Explorer) extend(r Result, from, depth int) {
	for i := from; i < len(r.steps); i++ {
		at := r.steps[i]
		for _, v := range kindsAt(at.op, depth > 1 && !e.All || e.Short, depth == 1) {
			if !v.kind.stands(e.Class) {
				continue
			}
			s := stateAt(at, v, depth)
			if e.seen[s] {
				e.Pruned++

				continue
			}
			e.seen[s] = true
			crossed := e.Crossed[at.op.name]
			if isAfter(v.kind) {
				crossed[1] = true
			} else {
				crossed[0] = true
			}
			e.Crossed[at.op.name] = crossed
			next := e.try(append(slices.Clone(r.Schedule.Faults), Fault{Op: at.op.name, N: at.n, Kind: v.kind, For: v.last}))
			if depth < e.depth() && len(next.Violations) == 0 && (e.All || slices.Contains(kindsAt(at.op, true, false), v)) {
				e.extend(next, i+1, depth+1)
			}
		}
	}
}

// Random returns the schedule of a seed, with up to so many faults.
func Random(seed uint64, most int) Schedule {
	r := rand.New(rand.NewPCG(seed, 4))
	names := Classes()
	s := Schedule{Scenario: scenarios[r.IntN(len(scenarios))].name, Class: names[r.IntN(len(names))]}
	for of, _ := scenarioOf(s.Scenario); of.calm || of.long || !Has(s.Scenario, s.Class); of, _ = scenarioOf(s.Scenario) {
		s.Scenario = scenarios[r.IntN(len(scenarios))].name
	}
	for range 1 + r.IntN(most) {
		o := operations[r.IntN(len(operations))]
		possible := slices.DeleteFunc(kindsAt(o, false, true), func(v variant) bool { return !v.kind.stands(s.Class) })
		v := possible[r.IntN(len(possible))]
		f := Fault{Op: o.name, N: 1 + r.IntN(6), Kind: v.kind, For: v.last}
		if r.IntN(6) == 0 { // far into a long life
			f.N = 1 + r.IntN(40)
		}
		s.Faults = append(s.Faults, f)
	}

	return s
}

// The operations that random schedules disturb.
var operations = []operation{
	{name: "get"},
	{name: "live"},
	{name: "patch", mutates: true},
	{name: "patch/status", mutates: true},
	{name: "Connect", external: true},
	{name: "Observe", external: true},
	{name: "Recover", external: true},
	{name: "Create", external: true, mutates: true},
	{name: "Update", external: true, mutates: true},
	{name: "Delete", external: true, mutates: true},
	{name: "Disconnect", external: true},
	{name: "live:Secret"},
	{name: "live:Namespace"},
	{name: "live:CustomResourceDefinition"},
	{name: "create:Secret", mutates: true},
	{name: "patch:Secret", mutates: true},
	{name: "list"},
	{name: "List", external: true},
	{name: "Subscribe", external: true},
}

// Shrink returns a schedule for which fails says yes, with as few faults as will do, each
// no longer than is usual if that will do, and as early as possible.
func Shrink(s Schedule, fails func(Schedule) bool) Schedule {
	for i := 0; i < len(s.Faults); {
		less := s
		less.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
		if fails(less) {
			s, i = less, 0
		} else {
			i++
		}
	}
	for i, f := range s.Faults {
		if usual := s.with(i, Fault{Op: f.Op, N: f.N, Kind: f.Kind}); f.For > lasts[f.Kind] && fails(usual) {
			s, f = usual, usual.Faults[i]
		}
		for n := 1; n < f.N; n++ {
			if earlier := s.with(i, Fault{Op: f.Op, N: n, Kind: f.Kind, For: f.For}); fails(earlier) {
				s = earlier

				break
			}
		}
	}

	return s
}

// With returns the schedule with another fault in the place of one.
func (s Schedule) with(i int, f Fault) Schedule {
	s.Faults = slices.Clone(s.Faults)
	s.Faults[i] = f

	return s
}

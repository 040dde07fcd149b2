package sim

import (
	"maps"
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

	// Depth is how many faults are combined exhaustively: one or more. Up to two, every
	// kind is combined with every other, each lasting as long as is usual; from three on,
	// only those that lead elsewhere than others do.
	Depth int

	// All combines faults of every kind whatever the depth, and with Apart in those scenarios,
	// too, in which single ones are tried otherwise.
	All bool

	// Apart combines faults in all lives of an object or two. The default is to leave it
	// at single faults in those of two, and of a resource that drifts, shows late, goes
	// slowly, or has connection details.
	Apart bool

	// Short leaves out faults that rarely lead elsewhere than others do.
	Short bool

	// Whole runs each schedule from its own beginning to its own end. The default is to begin
	// it with what another has done that begins alike, and to end it where everything
	// stands as it did in another that went well, when nothing more goes wrong.
	Whole bool

	// Doubts explores, in the place of what is explored otherwise, the faults after which what the
	// platform says or keeps is not what is so, and from depth two on combines each with a process
	// that dies, and with a user who changes, deletes or replaces the object.
	Doubts bool

	// Unpruned tries every fault after others, even where the same is tried elsewhere.
	Unpruned bool

	// After is who has explored another scenario over the class, or nil: what that tried
	// while the two were the same is not tried again. It must have finished.
	After *Explorer

	// Found is called with each result that violates something, or that an
	// operator had to help.
	Found func(Result)

	// Figures so far.
	Ran, Pruned, Blocked, Violated int

	// Crossed are the operations that were met with a fault before and after
	// them.
	Crossed map[string][2]bool

	// Restricted counts the faults that were not tried because the runtime does not hold what it promises.
	Restricted map[Kind]int

	without []Kind // of faults that are not tried

	known map[spot][]tried
	ends  ends
	kinds map[asked][]variant
	steps []entry // room for those of runs that nothing follows
}

// Explore runs the scenario without faults, and with every fault at every boundary
// up to the depth. The first result is returned.
func (e *Explorer) Explore() Result {
	e.known, e.kinds, e.Crossed = map[spot][]tried{}, map[asked][]variant{}, map[string][2]bool{}
	if e.After != nil && e.After.Class == e.Class {
		e.known = e.After.known
		if e.few() { // what it tries is not all that those after it would try
			e.known = maps.Clone(e.known)
			defer func() { e.known = e.After.known }()
		}
	}
	if e.ends = nil; !e.Whole {
		e.ends = ends{}
	}
	base := e.try(nil, &inquiry{})
	base.shelf = &shelf{}
	if len(base.Violations) == 0 && e.depth() > 0 { // or else the faults prove nothing
		e.begin(base)
	}

	return base
}

// depth is how many faults are combined in this scenario.
func (e *Explorer) depth() int {
	s, _ := scenarioOf(e.Scenario)
	switch {
	case s.calm, s.single && e.Short:
		return 0
	case s.single && (!e.All || !e.Apart), s.apart && !e.Apart && !(s.doubts && e.Doubts):
		return min(e.Depth, 1)
	default:
		return e.Depth
	}
}

// few says whether only those faults are combined that lead elsewhere than others do.
func (e *Explorer) few() bool {
	return !e.All && (e.Short || e.Depth > 2)
}

// Asked is what was asked of kindsAt.
type asked struct {
	op                                   string
	external, mutates, combined, crashes bool
}

// kindsOf returns what kindsAt does, and remembers it. The result is shared.
func (e *Explorer) kindsOf(o operation, combined, crashes bool) []variant {
	a := asked{o.name, o.external, o.mutates, combined, crashes}
	kinds, known := e.kinds[a]
	if !known {
		if kinds = kindsAt(o, combined, crashes); e.Doubts {
			kinds = e.kindsInDoubt(o, combined)
		}
		e.kinds[a] = kinds
	}

	return kinds
}

// try runs a schedule, and asks in addition to what is given what an Explorer asks of each.
func (e *Explorer) try(faults []Fault, i *inquiry) Result {
	i.stands, i.doubts, i.after, i.ends = len(faults) < e.depth(), e.Doubts, e.depth()-len(faults), e.ends
	if n := len(faults); n > 0 {
		i.last = boundary{faults[n-1].Op, faults[n-1].N}
		i.known = !faults[n-1].talks() || slices.ContainsFunc(faults[:n-1], Fault.talks) // or else more is said from the beginning
	}
	spare := !i.stands && len(faults) > 0
	if spare {
		i.steps, e.steps = e.steps, nil
	}
	r := e.Run(Schedule{Scenario: e.Scenario, Class: e.Class, Faults: faults, inquiry: i})
	r.Schedule.inquiry = nil
	if spare && len(r.Violations) == 0 {
		e.steps, r.steps = r.steps[:0], nil
	}
	for i := range r.steps {
		r.steps[i].op.mg = nil // much room, for what nobody looks at any more
	}
	e.Ran++
	e.Blocked += r.Blocked
	if len(r.Violations) > 0 {
		e.Violated++
		e.Found(r)
	}

	return r
}

// begin tries every fault at every boundary, and then those that follow them.
func (e *Explorer) begin(base Result) {
	turns := make([]turn, len(base.steps))
	for i := range base.steps {
		turns[i] = turn{base, i}
		e.tries(turns[i])
	}
	var next []Result
	for i, s := range base.steps {
		next = append(next, e.cross(turns[i], e.kindsOf(s.op, e.Short, true))...)
	}
	e.follow(next, 2)
}

// cross runs a schedule once more with each of some faults at a boundary, and returns
// the results that can be gone on from.
func (e *Explorer) cross(t turn, kinds []variant) (next []Result) {
	s := t.step()
	talks := slices.ContainsFunc(t.of.Schedule.Faults, Fault.talks)
	for _, v := range kinds {
		if !v.kind.stands(e.Class) || e.restricted(v) || slices.Contains(e.without, v.kind) {
			continue
		}
		f := Fault{Op: s.op.name, N: s.n, Kind: v.kind, For: v.last, Writes: v.writes}
		sides := e.Crossed[s.op.name]
		sides[bit(isAfter(v.kind))] = true
		e.Crossed[s.op.name] = sides
		i := &inquiry{comes: &arrival{t.of.skipped + t.i, s.at, s.process, s.pass, s.fired}}
		if !e.Whole {
			i.from, i.to = t.of.shelf.open(talks || f.talks(), s.pass)
		}
		r := e.try(slices.Concat(t.of.Schedule.Faults, []Fault{f}), i)
		if len(r.Violations) == 0 && slices.Contains(e.kindsOf(s.op, e.few(), false), v) && e.combines(s.op, v) {
			r.shelf = t.of.shelf.upTo(s.pass) // what comes before this fault is the same
			next = append(next, r)
		}
	}

	return next
}

// combines says whether a fault is tried with others.
func (e *Explorer) combines(o operation, v variant) bool {
	return v.usual() && (e.All || !lone(o, v.kind))
}

// Random returns the schedule of a seed, with up to so many faults.
func Random(seed uint64, most int) Schedule {
	r := rand.New(rand.NewPCG(seed, 4))
	names := slices.DeleteFunc(Classes(), func(class string) bool { return class == untold })
	s := Schedule{Scenario: scenarios[r.IntN(len(scenarios))].name, Class: names[r.IntN(len(names))]}
	for of, _ := scenarioOf(s.Scenario); of.calm || of.long || !Has(s.Scenario, s.Class); of, _ = scenarioOf(s.Scenario) {
		s.Scenario = scenarios[r.IntN(len(scenarios))].name
	}
	if s.Class == "opaque" && Has(s.Scenario, untold) && seed%2 == 0 {
		s.Class = untold
	}
	for range 1 + r.IntN(most) {
		o := operations[r.IntN(len(operations))]
		possible := slices.DeleteFunc(kindsAt(o, false, true), func(v variant) bool { return !v.kind.stands(s.Class) })
		v := possible[r.IntN(len(possible))]
		f := Fault{Op: o.name, N: 1 + r.IntN(6), Kind: v.kind, For: v.last, Writes: v.writes}
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
	{name: "get:Berth"},
	{name: "create:Secret", mutates: true},
	{name: "patch:Secret", mutates: true},
	{name: "list"},
	{name: "List", external: true},
	{name: "Subscribe", external: true},
	{name: "Record", external: true},
}

// Shrink returns a schedule for which fails says yes, with as few faults as will do, each
// no longer and undoing no more than is usual if that will do, and as early as possible.
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
		if usual := s.with(i, Fault{Op: f.Op, N: f.N, Kind: f.Kind}); (f.For > lasts[f.Kind] || f.Writes > 1) && fails(usual) {
			s, f = usual, usual.Faults[i]
		}
		for n := 1; n < f.N; n++ {
			if earlier := s.with(i, Fault{Op: f.Op, N: n, Kind: f.Kind, For: f.For, Writes: f.Writes}); fails(earlier) {
				s = earlier

				break
			}
		}
	}

	return s
}

// with returns the schedule with another fault in the place of one.
func (s Schedule) with(i int, f Fault) Schedule {
	s.Faults = slices.Clone(s.Faults)
	s.Faults[i] = f

	return s
}

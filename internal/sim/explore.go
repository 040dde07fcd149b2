package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// An Explorer tries schedules of one scenario in one class. It leaves out those that cannot differ from one that it has
// run; see the package comment.
type Explorer struct {
	Scenario, Class string

	// Run runs a schedule, in a bubble of testing/synctest. It is required.
	Run func(Schedule) Result

	// Depth is how many faults are combined exhaustively: one or more. Up to two, every
	// kind is combined with every other, each with its usual duration; from three on,
	// only those that lead to other states than the rest.
	Depth int

	// All combines faults of every kind whatever the depth, and with Apart in those scenarios,
	// too, in which single ones are tried otherwise.
	All bool

	// Apart combines faults in all lives of an object or two. The default is to leave it
	// at single faults in those of two, and of a resource that drifts, shows late, goes
	// slowly, or has connection details.
	Apart bool

	// Short leaves out faults that rarely lead to other states than the rest.
	Short bool

	// Whole runs each schedule from its own beginning to its own end. The default is to start
	// it from a checkpoint of a run that begins alike, and, after its last fault, to end it
	// in a state from which another run ended without a violation.
	Whole bool

	// Doubts explores other faults instead: those after which the platform reports or stores
	// something wrong. From depth two on it combines each with a process that dies, and with
	// a user who changes, deletes or replaces the object.
	Doubts bool

	// Unpruned tries every fault after others, even where an equal run is tried elsewhere.
	Unpruned bool

	// After is an Explorer of another scenario in the same class, or nil: what it tried
	// while both scenarios were alike is not tried again. It must have finished.
	After *Explorer

	// Found is called with each result that has a violation. It is required.
	Found func(Result)

	// Figures so far.
	Ran, Pruned, Blocked, Violated int

	// Crossed has the operations at which a fault was injected, before and after
	// them.
	Crossed map[string][2]bool

	// Restricted counts the faults that were not tried because a promise does not hold after them.
	Restricted map[Kind]int

	without []Kind // faults that are not tried

	known map[searchKey][]explored
	runs  runCache
	kinds map[asked][]variant
	steps []entry // room for those of runs that nothing follows
}

// Explore runs the scenario without faults, and with every fault at every boundary up to the depth. It returns the
// first result.
func (e *Explorer) Explore() Result {
	e.known, e.kinds, e.Crossed = map[searchKey][]explored{}, map[asked][]variant{}, map[string][2]bool{}
	if e.After != nil && e.After.Class == e.Class {
		e.known = e.After.known
		if e.few() { // what it tries is not all that those after it would try
			e.known = maps.Clone(e.known)
			defer func() { e.known = e.After.known }()
		}
	}
	if e.runs = nil; !e.Whole {
		e.runs = runCache{}
	}
	base := e.try(nil, &query{})
	base.checkpoints = &checkpoints{}
	if len(base.Violations) == 0 && e.depth() > 0 { // or else the faults prove nothing
		e.begin(base)
	}

	return base
}

// depth returns how many faults are combined in this scenario.
func (e *Explorer) depth() int {
	s, _ := scenarioOf(e.Scenario)
	switch {
	case s.faultless, s.singleFaults && e.Short:
		return 0
	case s.singleFaults && (!e.All || !e.Apart), s.onlyApart && !e.Apart && !(s.doubts && e.Doubts):
		return min(e.Depth, 1)
	default:
		return e.Depth
	}
}

// few says whether only those faults are combined that lead to other states than the rest.
func (e *Explorer) few() bool {
	return !e.All && (e.Short || e.Depth > 2)
}

// An asked has the arguments of kindsOf.
type asked struct {
	op                                   string
	external, mutates, combined, crashes bool
}

// kindsOf returns kindsAt from a cache. The result is shared.
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

// try runs a schedule, with a query that is completed for this Explorer.
func (e *Explorer) try(faults []Fault, i *query) Result {
	i.hashes, i.doubts, i.after, i.runs = len(faults) < e.depth(), e.Doubts, e.depth()-len(faults), e.runs
	if n := len(faults); n > 0 {
		i.last = boundary{faults[n-1].Op, faults[n-1].N}
		// or else more is said from the beginning
		i.judged = !faults[n-1].leaksSecrets() || slices.ContainsFunc(faults[:n-1], Fault.leaksSecrets)
	}
	reuse := !i.hashes && len(faults) > 0
	if reuse {
		i.steps, e.steps = e.steps, nil
	}
	r := e.Run(Schedule{Scenario: e.Scenario, Class: e.Class, Faults: faults, query: i})
	r.Schedule.query = nil
	if reuse && len(r.Violations) == 0 {
		e.steps, r.steps = r.steps[:0], nil
	}
	for i := range r.steps {
		r.steps[i].op.mg = nil // frees memory that is not used any more
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
	turns := make([]faultPoint, len(base.steps))
	for i := range base.steps {
		turns[i] = faultPoint{base, i}
		e.markExplored(turns[i])
	}
	var next []Result
	for i, s := range base.steps {
		next = append(next, e.cross(turns[i], e.kindsOf(s.op, e.Short, true))...)
	}
	e.combine(next, 2)
}

// cross runs a schedule again with each of some faults at a boundary, and returns the results after which more faults
// can follow.
func (e *Explorer) cross(t faultPoint, kinds []variant) (next []Result) {
	s := t.step()
	talks := slices.ContainsFunc(t.run.Schedule.Faults, Fault.leaksSecrets)
	for _, v := range kinds {
		if !v.kind.applies(e.Class) || e.restricted(v) || slices.Contains(e.without, v.kind) {
			continue
		}
		f := Fault{Op: s.op.name, N: s.n, Kind: v.kind, For: v.last, Writes: v.writes}
		sides := e.Crossed[s.op.name]
		sides[bit(isAfter(v.kind))] = true
		e.Crossed[s.op.name] = sides
		i := &query{arrival: &arrival{t.run.skipped + t.i, s.at, s.process, s.pass, s.fired}}
		if !e.Whole {
			i.resumeFrom, i.recordTo = t.run.checkpoints.open(talks || f.leaksSecrets(), s.pass)
		}
		r := e.try(slices.Concat(t.run.Schedule.Faults, []Fault{f}), i)
		if len(r.Violations) == 0 && slices.Contains(e.kindsOf(s.op, e.few(), false), v) && e.combines(s.op, v) {
			r.checkpoints = t.run.checkpoints.upTo(s.pass) // what comes before this fault is the same
			next = append(next, r)
		}
	}

	return next
}

// combines says whether a fault is combined with others.
func (e *Explorer) combines(o operation, v variant) bool {
	return v.usual() && (e.All || !rarelyPaired(o, v.kind))
}

// Random returns the schedule of a seed, with up to most faults.
func Random(seed uint64, most int) Schedule {
	r := rand.New(rand.NewPCG(seed, 4))
	names := slices.DeleteFunc(Classes(), func(class string) bool { return class == defaultClass })
	s := Schedule{Scenario: scenarios[r.IntN(len(scenarios))].name, Class: names[r.IntN(len(names))]}
	for of, _ := scenarioOf(s.Scenario); of.faultless || of.long || !Has(s.Scenario, s.Class); of,
		_ = scenarioOf(s.Scenario) {
		s.Scenario = scenarios[r.IntN(len(scenarios))].name
	}
	if s.Class == "opaque" && Has(s.Scenario, defaultClass) && seed%2 == 0 {
		s.Class = defaultClass
	}
	for range 1 + r.IntN(most) {
		o := operations[r.IntN(len(operations))]
		possible := slices.DeleteFunc(kindsAt(o, false, true), func(v variant) bool { return !v.kind.applies(s.Class) })
		v := possible[r.IntN(len(possible))]
		f := Fault{Op: o.name, N: 1 + r.IntN(6), Kind: v.kind, For: v.last, Writes: v.writes}
		if r.IntN(6) == 0 { // far into a long life
			f.N = 1 + r.IntN(40)
		}
		s.Faults = append(s.Faults, f)
	}

	return s
}

// operations are those at which random schedules inject faults.
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
	{name: "get:Bucket"},
	{name: "create:Secret", mutates: true},
	{name: "patch:Secret", mutates: true},
	{name: "list"},
	{name: "List", external: true},
	{name: "Subscribe", external: true},
	{name: "Record", external: true},
}

// Shrink returns a schedule for which fails returns true, with as few faults as possible, each with its usual duration
// or number if possible, and as early as possible.
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
		if usual := s.with(i, Fault{Op: f.Op, N: f.N, Kind: f.Kind}); (f.For > lasts[f.Kind] || f.Writes > 1) &&
			fails(usual) {
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

// with returns the schedule with one fault replaced.
func (s Schedule) with(i int, f Fault) Schedule {
	s.Faults = slices.Clone(s.Faults)
	s.Faults[i] = f

	return s
}

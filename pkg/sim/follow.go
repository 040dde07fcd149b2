package sim

import (
	"math/bits"
	"slices"
)

// A turn is a boundary of a run at which something may go wrong.
type turn struct {
	of Result
	i  int
}

func (t turn) step() entry { return t.of.steps[t.i] }

// next returns what the same pass does next, if it does something, and at once.
func (t turn) next() (entry, bool) {
	if t.i+1 == len(t.of.steps) {
		return entry{}, false
	}
	s, next := t.of.steps[t.i], t.of.steps[t.i+1]

	return next, s.process == next.process && s.pass == next.pass && s.at == next.at && len(next.faults) == 0
}

// A spot is where a fault that follows another can be: how everything stands, and what
// is about to be done, or what is about to end.
type spot struct {
	stand uint64
	op    string
}

// Tried says that every kind of fault was tried, with so many after it, where nothing
// but these excuses had come before.
type tried struct {
	excuses excuses
	after   int
}

// knows says whether what can be tried at a spot was tried there. If not, it is about
// to be.
func (e *Explorer) knows(s stand, op string, after int) bool {
	if s.hash == 0 {
		return false
	}
	at := spot{s.hash, op}
	if slices.ContainsFunc(e.known[at], func(t tried) bool { return t.excuses.within(s.excuses) && t.after >= after }) {
		return true
	}
	e.known[at] = append(e.known[at], tried{s.excuses, after})

	return false
}

// tries notes that every fault is tried at a boundary where nothing has gone wrong.
func (e *Explorer) tries(t turn) {
	s, after := t.step(), e.depth()-1
	e.knows(s.stand, s.op.name, after)
	if e.Doubts {
		e.knows(s.stand, s.op.name+" companions", after)
		e.knows(s.stand, s.op.name+" doubts", after)
	}
	for _, v := range e.kindsOf(s.op, e.few(), false) {
		if death := deaths[v.kind]; death != "" && v.usual() {
			e.knows(t.leaves(v.kind), death, after)
		}
	}
}

// follow tries what can go wrong after what has: first where there are few excuses, so
// that little is left to be tried where there are more; and in the order of the boundaries, in
// which pictures are taken.
func (e *Explorer) follow(runs []Result, depth int) {
	if depth > e.depth() {
		return
	}
	var order [bits.UintSize][]turn
	for _, r := range runs {
		for i := len(r.steps) - 1; i >= 0 && r.steps[i].faults == nil; i-- {
			n := bits.OnesCount32(uint32(r.steps[i].stand.excuses))
			order[n] = append(order[n], turn{r, i})
		}
	}
	for _, turns := range order {
		slices.SortStableFunc(turns, func(a, b turn) int { return a.of.skipped + a.i - b.of.skipped - b.i })
		for _, t := range turns {
			e.follow(e.cross(t, e.kindsAt(t, depth)), depth+1)
		}
	}
}

// kindsAt returns what is to be tried after other faults, each for as long as is usual.
func (e *Explorer) kindsAt(t turn, depth int) []variant {
	s := t.step()
	kinds := slices.DeleteFunc(slices.Clone(e.kindsOf(s.op, e.few(), false)), func(v variant) bool { return !e.combines(s.op, v) || !v.kind.stands(e.Class) })
	if e.Doubts {
		kinds = slices.DeleteFunc(e.afterDoubt(t, depth), func(v variant) bool { return !v.kind.stands(e.Class) })
	}
	if e.Unpruned {
		return kinds
	}
	all := len(kinds)
	if !e.Doubts && e.knows(s.stand, s.op.name, e.depth()-depth) {
		kinds = nil
	}
	kinds = slices.DeleteFunc(kinds, func(v variant) bool { return e.same(t, v, depth) })
	e.Pruned += all - len(kinds)

	return kinds
}

// same says whether what follows a fault is the same as what follows one that is tried
// elsewhere.
func (e *Explorer) same(t turn, v variant, depth int) bool {
	s := t.step()
	if s.op.external && !s.op.mutates && (v.kind == Lost || v.kind == HangAfter) {
		return true // as if it had failed, or hung: nobody gets the answer, and it had no effect
	}
	if death := deaths[v.kind]; death != "" {
		return e.knows(t.leaves(v.kind), death, e.depth()-depth)
	}
	next, follows := t.next()

	return follows && s.err == nil && e.independent(s.op, v.kind) && slices.Contains(e.kindsOf(next.op, e.few(), false), v)
}

// Deaths are faults that leave nothing of a process, by what begins after it.
var deaths = map[Kind]string{Crash: "crash", CrashAfter: "crash", Stale: "stale", ClockBack: "clock-back", ClockAhead: "clock-ahead"}

// leaves returns what a death leaves, if that can be told.
func (t turn) leaves(k Kind) stand {
	s := t.step()
	if !isAfter(k) || !s.op.mutates {
		return s.rest
	}
	if next, follows := t.next(); follows {
		return next.rest
	}

	return stand{}
}

// independent says whether it is the same if something happens before an operation that
// succeeds, and after it, at the same time: neither shows in the other. What a cache that
// lags would show meanwhile is nothing.
func (e *Explorer) independent(o operation, k Kind) bool {
	switch k {
	case Edit, Delete, Pause, Outage:
		return o.external
	case Freeze:
		s, _ := scenarioOf(e.Scenario)

		return s.lag > 0
	case Refusing:
		return !o.external || !o.mutates
	case Drift, Vanish, Squat:
		return o.name == "Connect"
	default:
		return false
	}
}

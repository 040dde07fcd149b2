package sim

import (
	"math/bits"
	"slices"
)

// A faultPoint is a boundary of a run at which a fault can be injected.
type faultPoint struct {
	run Result
	i   int
}

// step returns the operation at the boundary.
func (t faultPoint) step() entry { return t.run.steps[t.i] }

// next returns the next operation of the same pass, if there is one at the same time.
func (t faultPoint) next() (entry, bool) {
	if t.i+1 == len(t.run.steps) {
		return entry{}, false
	}
	s, next := t.run.steps[t.i], t.run.steps[t.i+1]

	return next, s.process == next.process && s.pass == next.pass && s.at == next.at && len(next.faults) == 0
}

// A searchKey identifies where another fault can be injected: the state, and the operation that is about to begin, or
// what is about to end.
type searchKey struct {
	stand uint64
	op    string
}

// An explored says that every kind of fault was tried, with up to after more faults, where no other excuses existed.
type explored struct {
	excuses excuses
	after   int
}

// wasExplored says whether everything that can be tried at a search key was tried. If not, it records that it will be.
func (e *Explorer) wasExplored(s stateHash, op string, after int) bool {
	if s.sum == 0 {
		return false
	}
	at := searchKey{s.sum, op}
	if slices.ContainsFunc(e.known[at], func(t explored) bool {
		return t.excuses.within(s.excuses) &&
			t.after >= after
	}) {
		return true
	}
	e.known[at] = append(e.known[at], explored{s.excuses, after})

	return false
}

// markExplored records that every fault is tried at a boundary of the run without faults.
func (e *Explorer) markExplored(t faultPoint) {
	s, after := t.step(), e.depth()-1
	e.wasExplored(s.hash, s.op.name, after)
	if e.Doubts {
		e.wasExplored(s.hash, s.op.name+" companions", after)
		e.wasExplored(s.hash, s.op.name+" doubts", after)
	}
	for _, v := range e.kindsOf(s.op, e.few(), false) {
		if death := deaths[v.kind]; death != "" && v.usual() {
			e.wasExplored(t.afterDeath(v.kind), death, after)
		}
	}
}

// combine adds one more fault to each run. Runs with few excuses come first, so that less is left to try for those with
// more; among those the boundaries come in order, as checkpoints need it.
func (e *Explorer) combine(runs []Result, depth int) {
	if depth > e.depth() {
		return
	}
	var order [bits.UintSize][]faultPoint
	for _, r := range runs {
		for i := len(r.steps) - 1; i >= 0 && r.steps[i].faults == nil; i-- {
			n := bits.OnesCount32(uint32(r.steps[i].hash.excuses))
			order[n] = append(order[n], faultPoint{r, i})
		}
	}
	for _, turns := range order {
		slices.SortStableFunc(turns, func(a, b faultPoint) int { return a.run.skipped + a.i - b.run.skipped - b.i })
		for _, t := range turns {
			e.combine(e.cross(t, e.kindsAt(t, depth)), depth+1)
		}
	}
}

// kindsAt returns the faults that are tried after others at a boundary, each with its usual duration.
func (e *Explorer) kindsAt(t faultPoint, depth int) []variant {
	s := t.step()
	kinds := slices.DeleteFunc(slices.Clone(e.kindsOf(s.op, e.few(), false)),
		func(v variant) bool { return !e.combines(s.op, v) || !v.kind.applies(e.Class) })
	if e.Doubts {
		kinds = slices.DeleteFunc(e.afterDoubt(t, depth), func(v variant) bool { return !v.kind.applies(e.Class) })
	}
	if e.Unpruned {
		return kinds
	}
	all := len(kinds)
	if !e.Doubts && e.wasExplored(s.hash, s.op.name, e.depth()-depth) {
		kinds = nil
	}
	kinds = slices.DeleteFunc(kinds, func(v variant) bool { return e.same(t, v, depth) })
	e.Pruned += all - len(kinds)

	return kinds
}

// same says whether the runs after a fault equal those after another fault that is tried elsewhere.
func (e *Explorer) same(t faultPoint, v variant, depth int) bool {
	s := t.step()
	if s.op.external && !s.op.mutates && (v.kind == Lost || v.kind == HangAfter) {
		return true // as if it had failed, or hung: the answer is lost, and it had no effect
	}
	if death := deaths[v.kind]; death != "" {
		return e.wasExplored(t.afterDeath(v.kind), death, e.depth()-depth)
	}
	next, follows := t.next()

	return follows && s.err == nil && e.independent(s.op, v.kind) &&
		slices.Contains(e.kindsOf(next.op, e.few(), false), v)
}

// deaths has the faults after which nothing of a process is left, by how the next one begins.
var deaths = map[Kind]string{Crash: "crash", CrashAfter: "crash", Stale: "stale", ClockBack: "clock-back",
	ClockAhead: "clock-ahead"}

// afterDeath returns the state after the process dies by a fault, or the zero hash if that is not known.
func (t faultPoint) afterDeath(k Kind) stateHash {
	s := t.step()
	if !isAfter(k) || !s.op.mutates {
		return s.restHash
	}
	if next, follows := t.next(); follows {
		return next.restHash
	}

	return stateHash{}
}

// independent says whether a fault before an operation that succeeds is the same as one after it, at the same time:
// neither sees the other. What a cache with a lag would show in between is not counted.
func (e *Explorer) independent(o operation, k Kind) bool {
	switch k {
	case Edit, Delete, Pause, Outage:
		return o.external
	case Freeze:
		s, _ := scenarioOf(e.Scenario)

		return s.lag > 0
	case Refusing:
		return !o.external || !o.mutates
	case Drift, Vanish, NameTaken:
		return o.name == "Connect"
	default:
		return false
	}
}

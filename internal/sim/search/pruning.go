package search

import (
	"math/bits"
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// combine adds one more fault to each run. Runs with few excuses come first, so that less is left to try for runs with
// more. Runs with equally many excuses come in the order of their boundaries, because checkpoints need that order.
func (e *Explorer) combine(runs []run, depth int) {
	if depth > e.depth() {
		return
	}
	var order [bits.UintSize][]faultPoint
	for _, r := range runs {
		for i := len(r.steps) - 1; i >= 0 && r.steps[i].Faults == nil; i-- {
			n := bits.OnesCount32(uint32(r.steps[i].Hash.Excuses))
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

// kindsAt returns the faults to try after others at a boundary, each with its usual duration.
func (e *Explorer) kindsAt(t faultPoint, depth int) []sim.Variant {
	s := t.step()
	kinds := slices.DeleteFunc(slices.Clone(e.kindsOf(s.Op, e.few(), false)),
		func(v sim.Variant) bool { return !e.combines(s.Op, v) || !v.Kind.Applies(e.Class) })
	if e.Doubts {
		kinds = slices.DeleteFunc(e.afterDoubt(t, depth),
			func(v sim.Variant) bool { return !v.Kind.Applies(e.Class) })
	}
	if e.Unpruned {
		return kinds
	}
	all := len(kinds)
	if !e.Doubts && e.wasExplored(s.Hash, s.Op.Name, e.depth()-depth) {
		kinds = nil
	}
	kinds = slices.DeleteFunc(kinds, func(v sim.Variant) bool { return e.same(t, v, depth) })
	e.Pruned += all - len(kinds)

	return kinds
}

// same returns whether the runs after a fault are identical to the runs after another fault that is tried elsewhere.
func (e *Explorer) same(t faultPoint, v sim.Variant, depth int) bool {
	s := t.step()
	if s.Op.External && !s.Op.Mutates && (v.Kind == sim.Lost || v.Kind == sim.HangAfter) {
		return true // as if it had failed, or hung: the answer is lost, and it had no effect
	}
	if death := deaths[v.Kind]; death != "" {
		return e.wasExplored(t.afterDeath(v.Kind), death, e.depth()-depth)
	}
	next, follows := t.next()

	return follows && s.Err == nil && e.independent(s.Op, v.Kind) &&
		slices.Contains(e.kindsOf(next.Op, e.few(), false), v)
}

// independent returns whether a fault before an operation that succeeds has the same effect as one after it at the same
// time, because neither affects the other. It ignores what a cache with a lag would show in between.
func (e *Explorer) independent(o sim.Operation, k sim.Kind) bool {
	switch k {
	case sim.Edit, sim.Delete, sim.Pause, sim.Outage:
		return o.External
	case sim.Freeze:
		return sim.Lags(e.Scenario)
	case sim.Refusing:
		return !o.External || !o.Mutates
	case sim.Drift, sim.Vanish, sim.NameTaken:
		return o.Name == "Connect"
	default:
		return false
	}
}

// markExplored records that every fault is tried at a boundary of the run without faults.
func (e *Explorer) markExplored(t faultPoint) {
	s, after := t.step(), e.depth()-1
	e.wasExplored(s.Hash, s.Op.Name, after)
	if e.Doubts {
		e.wasExplored(s.Hash, s.Op.Name+" companions", after)
		e.wasExplored(s.Hash, s.Op.Name+" doubts", after)
	}
	for _, v := range e.kindsOf(s.Op, e.few(), false) {
		if death := deaths[v.Kind]; death != "" && v.Usual() {
			e.wasExplored(t.afterDeath(v.Kind), death, after)
		}
	}
}

// deaths has the faults after which nothing of a process is left. Its values name how the next process begins.
var deaths = map[sim.Kind]string{sim.Crash: "crash", sim.CrashAfter: "crash", sim.Stale: "stale",
	sim.ClockBack: "clock-back", sim.ClockAhead: "clock-ahead"}

// A searchKey identifies where another fault can be injected: the state, and the operation that is about to begin or to
// end.
type searchKey struct {
	state uint64
	op    string
}

// An explored records that every kind of fault was tried at a searchKey, followed by at most after more faults. The run
// that tried them had the excuses.
type explored struct {
	excuses sim.Excuses
	after   int
}

// wasExplored returns whether everything that can be tried at a search key was tried. If not, it records that it is
// tried now.
func (e *Explorer) wasExplored(s sim.StateHash, op string, after int) bool {
	if s.Sum == 0 {
		return false
	}
	at := searchKey{s.Sum, op}
	if slices.ContainsFunc(e.cached.known[at], func(t explored) bool {
		return t.excuses.Within(s.Excuses) && t.after >= after
	}) {
		return true
	}
	e.cached.known[at] = append(e.cached.known[at], explored{s.Excuses, after})

	return false
}

// A faultPoint is a boundary of a run at which a fault can be injected.
type faultPoint struct {
	run run
	i   int
}

// afterDeath returns the state after the process dies by a fault, or the zero hash if that is not known.
func (t faultPoint) afterDeath(k sim.Kind) sim.StateHash {
	s := t.step()
	if !sim.IsAfter(k) || !s.Op.Mutates {
		return s.RestHash
	}
	if next, follows := t.next(); follows {
		return next.RestHash
	}

	return sim.StateHash{}
}

// next returns the next operation of the same pass, if there is one at the same time.
func (t faultPoint) next() (sim.Step, bool) {
	if t.i+1 == len(t.run.steps) {
		return sim.Step{}, false
	}
	s, next := t.run.steps[t.i], t.run.steps[t.i+1]

	return next, s.Process == next.Process && s.Pass == next.Pass && s.At == next.At && len(next.Faults) == 0
}

// step returns the operation at the boundary.
func (t faultPoint) step() sim.Step { return t.run.steps[t.i] }

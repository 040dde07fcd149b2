package search

import (
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// A runCache has the runs that ended without a violation, by the state hash at the beginning of each of their passes. A
// run with no faults left to inject stops when it reaches such a state, because the rest is identical.
type runCache map[uint64][]finishedRun

// A finishedRun is the remainder of a run after the beginning of a pass.
type finishedRun struct {
	before sim.Totals // of the run up to that pass
	rest   sim.Totals // from that pass to its end

	excuses sim.Excuses
	after   int // faults that could still have followed
}

// A visit is a pass that began after the last fault.
type visit struct {
	hash   sim.StateHash
	totals sim.Totals
}

// add adds the rest of a run after a visit, unless an equivalent one is known. final are the totals of the run. If the
// run ended because another run has its rest, rest are the totals of that rest.
func (c runCache) add(v visit, final, rest sim.Totals, after int) {
	known := c[v.hash.Sum]
	if slices.ContainsFunc(known, func(e finishedRun) bool {
		return e.after >= after && e.excuses.Within(v.hash.Excuses) &&
			(e.before.Made == v.totals.Made || v.hash.Excuses.UserActed())
	}) {
		return
	}
	rest = final.Minus(v.totals).Plus(rest)
	rest.Requests = max(rest.Requests, 0) // they are counted by the hour
	c[v.hash.Sum] = append(known, finishedRun{v.totals, rest, v.hash.Excuses, after})
}

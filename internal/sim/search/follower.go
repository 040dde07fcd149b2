package search

import (
	"fmt"
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// A query is what an Explorer asks of a run in addition to its result.
type query struct {
	hashes     bool         // record the state hash at each boundary at which another fault may follow
	last       sim.Boundary // the boundary of the last fault of the schedule; others follow after it
	arrival    *sim.Arrival // how the run has to reach that boundary; nil if that is not checked
	judged     bool         // another run judged everything before that boundary
	after      int          // how many faults may follow
	doubts     bool         // the faults that follow may be doubts
	runs       runCache     // finished runs; nil if this run has to go on to its own end
	steps      []sim.Step   // a slice to reuse for the steps
	resumeFrom *checkpoint  // nil if the run has to start from its own beginning
	recordTo   *checkpoint  // nil if no other run needs snapshots of this one
}

// A follower is the guide of one run. It starts the run from a checkpoint, fills a checkpoint for later runs, and ends
// the run when the rest is known from a finished run.
type follower struct {
	*query

	visits []visit
	joined bool       // a finished run has the rest of this one
	rest   sim.Totals // of that finished run
}

// Start returns the settings of the query as a Guidance. The run resumes from the checkpoint under two conditions: the
// world is resumable, and this run began at the same virtual time as the run that filled the checkpoint. Otherwise the
// run starts without a snapshot.
func (f *follower) Start(w *sim.World) sim.Guidance {
	if !w.Resumable() {
		f.resumeFrom, f.recordTo = nil, nil
	}
	if from := f.resumeFrom; from != nil && !from.began.Equal(w.Began()) {
		if f.resumeFrom = nil; f.recordTo != nil {
			*f.recordTo = checkpoint{pass: f.recordTo.pass}
		}
	}
	if f.recordTo != nil {
		f.recordTo.began = w.Began()
	}
	out := sim.Guidance{
		Last: f.last, Hashes: f.hashes, Doubts: f.doubts, Judged: f.judged, Joins: f.runs != nil, Steps: f.steps,
	}
	if f.resumeFrom != nil {
		out.ResumesIn = f.resumeFrom.wait
	}

	return out
}

// Reach panics if the run reaches the boundary of its last fault in another way than the run without that fault: until
// then, the two runs have to be identical.
func (f *follower) Reach(at sim.Arrival) {
	if f.recordTo != nil {
		f.recordTo.full = f.recordTo.last != nil
	}
	if f.arrival != nil && at != *f.arrival {
		panic(fmt.Sprintf("a run came to %v as %+v, and the one that it stands for as %+v: they differ", f.last, at,
			*f.arrival))
	}
}

// Resume restores a snapshot of the checkpoint. For an earlier wait than that of the last snapshot, it restores the end
// of the wait. For that wait, it restores the last snapshot.
func (f *follower) Resume(w *sim.World, wait int) (found, ended bool) {
	from := f.resumeFrom
	switch {
	case from == nil || wait > from.wait:
		return false, false
	case wait < from.wait:
		of := from.ended[wait-1]
		w.RestoreShared(of.Snapshot)

		return of.found, true
	default:
		w.Restore(*from.last)

		return false, false
	}
}

// BeforePass takes a snapshot if one of the next few passes has the boundary for which this run fills a checkpoint.
func (f *follower) BeforePass(w *sim.World, wait int) {
	to := f.recordTo
	if to == nil || w.Passes() >= to.pass || w.Passes() < to.pass-mostPassesBefore || !w.Quiescent() {
		return
	}
	shot := w.Snapshot(true)
	to.last, to.wait = &shot, wait
}

// EndWait takes a snapshot at the end of a wait of the scenario if this run fills a checkpoint.
func (f *follower) EndWait(w *sim.World, found bool) {
	if to := f.recordTo; to != nil && w.Snapshotable() {
		to.ended = append(to.ended, waitEnd{w.Snapshot(false), found})
	}
}

// Join returns whether the rest of this run is known from a finished run.
func (f *follower) Join(w *sim.World, at sim.StateHash, before sim.Totals) bool {
	known := f.runs[at.Sum]
	i := slices.IndexFunc(known, func(e finishedRun) bool {
		return e.after >= f.after && e.excuses.Within(at.Excuses) && w.WithinBounds(before, e.before, e.rest)
	})
	f.visits = append(f.visits, visit{at, before})
	if i >= 0 {
		f.joined, f.rest = true, known[i].rest
	}

	return f.joined
}

// End adds the run to the finished runs if it ended without a violation and without an excuse.
func (f *follower) End(w *sim.World) {
	if f.runs == nil || !w.Clean() {
		return
	}
	final, visits := w.Totals(), f.visits
	if f.joined {
		final, visits = visits[len(visits)-1].totals, visits[:len(visits)-1]
	}
	for _, v := range visits {
		f.runs.add(v, final, f.rest, f.after)
	}
}

package sim

import (
	"slices"
	"time"
)

// A checkpoint has the snapshots that were taken while a run went to a boundary. A run with the same faults before that
// boundary starts from the last snapshot instead of from the beginning.
type checkpoint struct {
	began time.Time  // when the run began: snapshots contain times
	pass  int        // the pass that has the boundary
	ended []snapshot // at the end of each wait of the scenario
	last  *snapshot  // at most mostPassesBefore passes before that pass
	wait  int        // the wait of the scenario in which last was taken, counted from one
	full  bool       // last was taken, and the run reached the boundary
}

// mostPassesBefore is how many passes the last snapshot may be older than the pass that has the boundary.
const mostPassesBefore = 4

// A checkpoints is the set for the runs that continue one run. Index 1 is for faults that make the external system put
// secrets into its errors, because it does so from the beginning; index 0 is for all others. Boundaries are explored in
// order.
type checkpoints [2]*checkpoint

// open returns the checkpoint that a run to a boundary in a pass starts from, or nil. If that one is for an earlier
// pass, it also returns the checkpoint that the run has to fill.
func (s *checkpoints) open(talks bool, pass int) (from, to *checkpoint) {
	have := s[bit(talks)]
	if have != nil && have.full && have.pass == pass {
		return have, nil
	}
	to = &checkpoint{pass: pass}
	s[bit(talks)] = to
	if have == nil || !have.full || have.pass > pass {
		return nil, to
	}
	to.ended, to.last, to.wait = slices.Clip(have.ended[:have.wait-1]), have.last, have.wait

	return have, to
}

// upTo returns the set for runs that continue after a boundary in a pass: without checkpoints of later passes.
func (s *checkpoints) upTo(pass int) *checkpoints {
	out := *s
	for i, a := range out {
		if a != nil && a.pass > pass {
			out[i] = nil
		}
	}

	return &out
}

// resumeFrom returns the checkpoint that the run starts from, or nil.
func (c *exploration) resumeFrom() *checkpoint {
	if c.query == nil {
		return nil
	}

	return c.query.resumeFrom
}

// recordTo returns the checkpoint that the run has to fill, or nil.
func (c *exploration) recordTo() *checkpoint {
	if c.query == nil || c.begun {
		return nil
	}

	return c.query.recordTo
}

// replaying says whether the run has not yet reached the last snapshot of its checkpoint. What users do until then has
// no effect, because the next snapshot contains it.
func (w *World) replaying() bool {
	a := w.exploration.resumeFrom()

	return a != nil && w.exploration.waited < a.wait
}

// resume starts a wait of the scenario from the checkpoint. If the checkpoint has the end of that wait, ended is true,
// and found is the result of the wait.
func (w *World) resume() (found, ended bool) {
	w.exploration.waited++
	a := w.exploration.resumeFrom()
	switch {
	case a == nil || w.exploration.waited > a.wait:
		return false, false
	case w.exploration.waited < a.wait:
		of := a.ended[w.exploration.waited-1]
		w.restoreShared(of)

		return of.found, true
	default:
		w.restore(*a.last)

		return false, false
	}
}

// snapshotBeforePass takes a snapshot if one of the next passes has the boundary.
func (w *World) snapshotBeforePass() {
	a := w.exploration.recordTo()
	if a == nil || w.passes >= a.pass || w.passes < a.pass-mostPassesBefore || !w.quiescent() {
		return
	}
	shot := w.snapshot(true)
	a.last, a.wait = &shot, w.exploration.waited
}

// snapshotAtEnd takes a snapshot at the end of a wait of the scenario.
func (w *World) snapshotAtEnd(found bool) {
	if a := w.exploration.recordTo(); a != nil && w.snapshotable() {
		shot := w.snapshot(false)
		shot.found = found
		a.ended = append(a.ended, shot)
	}
}

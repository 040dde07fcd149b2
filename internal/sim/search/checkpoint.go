package search

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
)

// A checkpoint has the snapshots that a run took on the way to a boundary. A run with the same faults before that
// boundary starts from the last snapshot instead of from the beginning.
type checkpoint struct {
	began time.Time     // when the run began: snapshots contain times
	pass  int           // the pass that has the boundary
	ended []waitEnd     // of each wait of the scenario
	last  *sim.Snapshot // at most mostPassesBefore passes before that pass
	wait  int           // the wait of the scenario in which last was taken, counted from one
	full  bool          // last was taken, and the run reached the boundary
}

// A waitEnd is the end of a wait of the scenario.
type waitEnd struct {
	sim.Snapshot

	found bool // the result of the wait
}

// mostPassesBefore is the maximum number of passes between the last snapshot and the pass with the boundary.
const mostPassesBefore = 4

// A checkpoints is the set of checkpoints for the runs that continue one run. Index 1 is for faults that make the
// external system put secrets into its errors, because it does so from the beginning. Index 0 is for all other faults.
// Boundaries are explored in order.
type checkpoints [2]*checkpoint

// open returns the checkpoint from which a run to a boundary in a pass starts, or nil. If that checkpoint is for an
// earlier pass, open also returns the checkpoint that the run has to fill.
func (s *checkpoints) open(talks bool, pass int) (from, to *checkpoint) {
	have := s[index(talks)]
	if have != nil && have.full && have.pass == pass {
		return have, nil
	}
	to = &checkpoint{pass: pass}
	s[index(talks)] = to
	if have == nil || !have.full || have.pass > pass {
		return nil, to
	}
	to.ended, to.last, to.wait = slices.Clip(have.ended[:have.wait-1]), have.last, have.wait

	return have, to
}

// upTo returns the set for runs that continue after a boundary in a pass. It omits checkpoints of later passes.
func (s *checkpoints) upTo(pass int) *checkpoints {
	out := *s
	for i, a := range out {
		if a != nil && a.pass > pass {
			out[i] = nil
		}
	}

	return &out
}

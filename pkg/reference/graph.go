package reference

import (
	"slices"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// maxSearched is how many objects a search for a cycle looks at. A longer cycle is
// not found: its members wait like any others.
const maxSearched = 1024

// A Graph knows which objects wait for which, so that those that wait for each
// other can be told. Each Tracker has one; trackers that share one, by WithGraph,
// find cycles that go through several kinds. It may be used concurrently.
type Graph struct {
	mu    sync.Mutex
	waits map[Referent][]Referent
}

// NewGraph returns a graph in which nobody waits.
func NewGraph() *Graph {
	return &Graph{waits: map[Referent][]Referent{}}
}

// set replaces what the object waits for.
func (g *Graph) set(from Referent, to []Referent) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if len(to) == 0 {
		delete(g.waits, from)

		return
	}

	g.waits[from] = to
}

// cycle returns the shortest cycle that begins with from, which waits for to, or
// nil if to does not wait for from.
func (g *Graph) cycle(from, to Referent) []Referent {
	g.mu.Lock()
	defer g.mu.Unlock()

	before := map[Referent]Referent{to: from}
	for next := []Referent{to}; len(next) > 0; next = next[1:] {
		for _, w := range g.waits[next[0]] {
			if w == from {
				return trail(before, from, next[0])
			}
			if _, seen := before[w]; !seen && len(before) < maxSearched {
				before[w] = next[0]
				next = append(next, w)
			}
		}
	}

	return nil
}

// trail goes back from the last member of a cycle to its first.
func trail(before map[Referent]Referent, first, last Referent) []Referent {
	out := []Referent{last}
	for last != first {
		last = before[last]
		out = append(out, last)
	}
	slices.Reverse(out)

	return out
}

// waitsIn returns who waits for whom according to an error and all that it wraps.
// Who is part of a cycle waits as well.
func waitsIn(err error) (from Referent, to []Referent) {
	switch e := err.(type) { //nolint:errorlint // The tree is walked here, node by node.
	case nil:
		return from, nil
	case *WaitingError:
		return e.from, []Referent{e.Referent}
	case *RefusedError:
		if e.Reason == ReasonCycle {
			return e.from, []Referent{e.Referent}
		}

		return from, nil
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if f, t := waitsIn(one); len(t) > 0 {
				from, to = f, append(to, t...)
			}
		}

		return from, to
	default:
		return waitsIn(errors.Unwrap(err))
	}
}

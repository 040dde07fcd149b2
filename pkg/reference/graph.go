package reference

import (
	"slices"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// maxSearched is how many objects a search for a cycle visits. Longer cycles are not
// found: their members wait like any others.
const maxSearched = 1024

// A Graph records which objects wait for which referents, in order to find cycles. Each Tracker has a Graph. Trackers
// that share a Graph (see WithGraph) find cycles across their kinds. A Graph is safe for concurrent use.
type Graph struct {
	mu    sync.Mutex
	edges map[Referent][]Referent
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{edges: map[Referent][]Referent{}}
}

// set replaces the referents that the object waits for.
func (g *Graph) set(from Referent, to []Referent) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if len(to) == 0 {
		delete(g.edges, from)

		return
	}

	g.edges[from] = to
}

// cycle returns the shortest cycle that starts with from, which waits for to, or nil if
// to does not wait for from.
func (g *Graph) cycle(from, to Referent) []Referent {
	g.mu.Lock()
	defer g.mu.Unlock()

	before := map[Referent]Referent{to: from}
	for next := []Referent{to}; len(next) > 0; next = next[1:] {
		for _, w := range g.edges[next[0]] {
			if w == from {
				return path(before, from, next[0])
			}
			if _, seen := before[w]; !seen && len(before) < maxSearched {
				before[w] = next[0]
				next = append(next, w)
			}
		}
	}

	return nil
}

// path returns the members of a cycle from first to last.
func path(before map[Referent]Referent, first, last Referent) []Referent {
	out := []Referent{last}
	for last != first {
		last = before[last]
		out = append(out, last)
	}
	slices.Reverse(out)

	return out
}

// dependenciesIn returns the object that waits, and the referents that it waits for,
// according to an error and all errors that it wraps. A member of a cycle waits as well.
func dependenciesIn(err error) (from Referent, to []Referent) {
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
			if f, t := dependenciesIn(one); len(t) > 0 {
				from, to = f, append(to, t...)
			}
		}

		return from, to
	default:
		return dependenciesIn(errors.Unwrap(err))
	}
}

package reference

import (
	"slices"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// maxSearched is the maximum number of objects that a search for a cycle visits. The search does not find longer
// cycles. Their members wait like other objects.
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

// set replaces the referents for which an object waits.
func (g *Graph) set(from Referent, to []Referent) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if len(to) == 0 {
		delete(g.edges, from)

		return
	}

	g.edges[from] = to
}

// cycle returns the shortest cycle that begins with from and to. The object from waits for to. If to does not wait for
// from, directly or indirectly, cycle returns nil.
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

// dependenciesIn returns the waiting object and the referents for which it waits. It finds them in the error and all
// errors that the error wraps. A member of a cycle waits as well.
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

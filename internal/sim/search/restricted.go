package search

import (
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// restricted returns whether a fault is left out in a scenario, and counts it if so.
func (e *Explorer) restricted(v sim.Variant) bool {
	is := e.unpromised(v)
	if is {
		if e.Restricted == nil {
			e.Restricted = map[sim.Kind]int{}
		}
		e.Restricted[v.Kind]++
	}

	return is
}

// unpromised says whether a promise does not hold in a scenario after a fault:
//
//   - an attempt without a record and without a process that knows it is lost, unless names are chosen. A restore that
//     undoes two writes after a process was stopped removes such a record soon after each creation;
//   - while the removal of a finalizer is refused, each attempt reports again that the resource stays because its
//     namespace or its kind is deleted.
func (e *Explorer) unpromised(v sim.Variant) bool {
	if v.Kind.BlocksCall() {
		return e.Scenario == "reference" || e.Scenario == "referent" // here the controller has to watch referents
	}
	if v.Kind == sim.RewoundDown && v.Writes > 1 && e.Class != "named" {
		return true
	}
	switch e.Scenario {
	case "guard", "guard-kind":
		return v.For > v.Kind.Duration() && slices.Contains(refusals, v.Kind)
	default:
		return false
	}
}

// refusals has the doubts in which the API server refuses writes.
var refusals = []sim.Kind{sim.Refused, sim.RefusedSize, sim.RefusedAccess}

package sim

import "slices"

// refusals has the doubts in which the API server refuses writes.
var refusals = []Kind{Refused, RefusedSize, RefusedAccess}

// restricted says whether a fault is left out in a scenario, and counts it if so.
func (e *Explorer) restricted(v variant) bool {
	is := e.unpromised(v)
	if is {
		if e.Restricted == nil {
			e.Restricted = map[Kind]int{}
		}
		e.Restricted[v.kind]++
	}

	return is
}

// unpromised says whether a promise does not hold in a scenario after a fault:
//
//   - an attempt without a record and without a process that knows it is lost, unless names are chosen. A restore that
//     undoes two writes after a process was stopped removes such a record soon after each creation;
//   - while the removal of a finalizer is refused, each attempt reports again that the resource stays because its
//     namespace or its kind is deleted.
func (e *Explorer) unpromised(v variant) bool {
	if v.kind.blocksCall() {
		return e.Scenario == "reference" || e.Scenario == "referent" // here the controller has to watch referents
	}
	if v.kind == RewoundDown && v.writes > 1 && e.Class != "named" {
		return true
	}
	switch e.Scenario {
	case "guard", "guard-kind":
		return v.last > lasts[v.kind] && slices.Contains(refusals, v.kind)
	default:
		return false
	}
}

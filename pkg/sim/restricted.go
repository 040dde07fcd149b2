package sim

import "slices"

// Refusals are the doubts in which the API server refuses what is written.
var refusals = []Kind{Refused, RefusedSize, RefusedAccess}

// restricted says whether a fault is left out in a scenario, and counts it if it is.
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

// unpromised says whether the runtime does not hold in a scenario what it promises, if a fault comes there:
//
//   - of an attempt that no process and no record tells of nobody knows, but where names are chosen. A restore that undoes
//     two writes after a process was stopped takes such a record soon after each creation;
//   - that a resource is left as it is because its namespace or its kind goes is told anew in every
//     attempt to let the object go, for as long as that is refused.
func (e *Explorer) unpromised(v variant) bool {
	if v.kind.deafens() {
		return e.Scenario == "reference" || e.Scenario == "referent" // of these the controller has to watch what is referred to
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

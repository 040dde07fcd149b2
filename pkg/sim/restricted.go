package sim

// Restricted says whether a fault is left out in a scenario because the runtime does not hold there
// what it promises:
//
//   - which external system an object is in is recorded in an annotation alone. If a replace takes
//     that, and the connection leads elsewhere before the next pass, another resource is made there.
func (e *Explorer) restricted(v variant) bool {
	switch e.Scenario {
	case "backend":
		return v.kind == Strip || v.kind == StripAnnotations
	default:
		return false
	}
}

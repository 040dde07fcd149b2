// Package sim runs the reconciler of pkg/reconciler/managed in virtual time, with an API server, a cache, a queue and
// an external system in memory, and injects faults at boundaries: before or after any operation on the API server or on
// the external system. It is for authors of store adapters, who test whether the reconciler keeps its promises when
// their adapter stores its objects. Start with New, and with RunBehind of a Simulator.
//
//	simulator := sim.New()
//	synctest.Test(t, func(t *testing.T) {
//		result, err := simulator.RunBehind(schedule, true, emptyClient)
//		...
//	})
//
// A Schedule names a scenario (the life of an object or two without faults), a class of external system (what makes a
// creation safe to repeat), and the faults. It fits on one line and determines the run: two runs of a schedule are the
// same. Faultless returns a schedule without faults for each scenario and class. An Explorer injects every single fault
// at every boundary of a scenario, and combinations of them. Properties hold in every run; a Result has those that did
// not.
//
// Authors of clients of external systems use package conformance, which runs its scenarios in this simulator.
package sim

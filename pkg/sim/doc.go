// Package sim runs the reconciler of pkg/reconciler/managed in virtual time. The API server, the cache, the queue and
// the external system are in memory. The package is for authors of store adapters. It tests whether the reconciler
// keeps its guarantees when an adapter stores its objects. The simulator injects faults at boundaries: before or after
// an operation on the API server or on the external system. Start with New, and with the method RunBehind of a
// Simulator.
//
//	simulator := sim.New()
//	synctest.Test(t, func(t *testing.T) {
//		result, err := simulator.RunBehind(schedule, true, emptyClient)
//		...
//	})
//
// A Schedule describes one run on one line: a scenario, a class of external system, and the faults. Two runs of the
// same Schedule are identical. A scenario is the life of one or two objects without faults. A class says why a creation
// in the external system may be repeated safely. Faultless returns a schedule without faults for each scenario and
// class. An Explorer injects every single fault at every boundary of a scenario, and combinations of faults. Every run
// has to satisfy all Properties; a Result has the violated ones.
//
// Authors of clients of external systems use package conformance, which runs its scenarios in this simulator.
package sim

// Package sim is for finding out what breaks the reconciler of pkg/reconciler/managed:
// it runs the real one against an API server, a cache, a queue and an external
// system in memory, in virtual time, and lets something go wrong at a boundary of
// its choice: before or after any operation on the API server or the external
// system. Start with Run, in a bubble of testing/synctest.
//
//	synctest.Test(t, func(t *testing.T) {
//		result, err := sim.Run(schedule, true)
//		...
//	})
//
// A Schedule names a scenario (the life of an object or two without faults), a
// class of external system (what makes a creation safe to repeat), and the faults.
// It fits on one line and says everything: two runs of a schedule are the same. An
// Explorer tries all single faults, and combinations of them, and leaves out those
// that cannot differ from one already run; Random makes a schedule of a seed; Shrink
// takes away what a failure does not need. Whatever happens, Properties hold; a
// Result says which did not.
//
// One process of a provider is its cache, its queue and its reconciler, all of which
// a crash takes away. Everything happens on one goroutine: while an operation takes
// time, the rest of the world goes on within it. The seam is one function
// through which every operation goes; a crash is a panic in it that only the
// boundary of the process recovers.
package sim

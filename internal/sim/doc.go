// Package sim finds faults that break the reconciler of pkg/reconciler/managed. It runs the real reconciler in virtual
// time. The API server, the cache, the queue and the external system are in memory. It injects faults at boundaries:
// before or after an operation on the API server or on the external system. Start with New, and with the method Run in
// a bubble of testing/synctest.
//
//	simulator := sim.New()
//	synctest.Test(t, func(t *testing.T) {
//		result, err := simulator.Run(schedule, true)
//		...
//	})
//
// A Schedule describes one run. It names a scenario, a class of external system, and the faults. A scenario is the life
// of one or two objects without faults. A class is the property of an external system that makes a creation safe to
// repeat. A Schedule fits on one line and determines the run: two runs of one schedule are identical. Random makes a
// schedule from a seed. Shrink removes the faults that a failure does not need. Package search tries all single faults,
// and combinations of faults. Every run has to satisfy all Properties; a Result has the violated ones. A Trial runs a
// scenario with the client of another external system.
//
// # How a run works
//
// A World has the API server (package apiserver), the external system, the users and the processes. A process is one
// run of a provider: its cache, its queue and its reconciler, which are lost in a crash. A pass is one reconcile of an
// object. Everything happens on one goroutine. While an operation takes time, the rest of the world continues inside
// that operation.
//
// Every operation goes through one function, World.step, which injects the faults. A crash is a panic in that function,
// and only the boundary of the process recovers from it. Functions called judges check each operation, each write and
// the end of the run. An exemption excuses one attempt of one object after a fault that makes a guarantee impossible to
// keep. Exemptions are counted.
//
// # How a search controls a run
//
// A Guide controls the run of a schedule for a search. It receives the hash of the state before each operation. It
// takes snapshots between passes, resumes a run from a snapshot, and ends a run when the rest is known. Package search
// explores schedules with a Guide.
package sim

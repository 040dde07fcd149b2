// Package sim finds faults that break the reconciler of pkg/reconciler/managed. It runs the real reconciler with an API
// server, a cache, a queue and an external system in memory, in virtual time, and injects faults at boundaries: before
// or after any operation on the API server or on the external system. Start with New, and with Run in a bubble of
// testing/synctest.
//
//	simulator := sim.New()
//	synctest.Test(t, func(t *testing.T) {
//		result, err := simulator.Run(schedule, true)
//		...
//	})
//
// A Schedule names a scenario (the life of an object or two without faults), a class of external system (what makes a
// creation safe to repeat), and the faults. It fits on one line and determines the run: two runs of a schedule are the
// same. Random makes a schedule from a seed, and Shrink removes the faults that a failure does not need; package search
// tries all single faults, and combinations of them. Properties hold in every run; a Result has those that did not. A
// Trial runs a scenario with the client of another external system.
//
// # How a run works
//
// A World has the API server (package apiserver), the external system, the users and the processes. A process is one
// run of a provider: its cache, its queue and its reconciler, which are lost in a crash. Everything happens on one
// goroutine: while an operation takes time, the rest of the world goes on within it. Every operation goes through one
// function, World.step, which injects the faults; a crash is a panic there that only the boundary of the process
// recovers from. The judges check each operation, each write and the end of the run. An exemption excuses one attempt
// of one object after a fault that makes a promise impossible to keep, and it is counted.
//
// # What follows a run
//
// A Guide follows the run of a schedule: it learns the hash of the state before each operation, takes snapshots between
// passes, resumes a run from a snapshot, and ends a run where its rest is known. Package search explores schedules that
// way.
package sim

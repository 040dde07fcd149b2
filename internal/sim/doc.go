// Package sim finds faults that break the reconciler of pkg/reconciler/managed. It runs the real reconciler with an API
// server, a cache, a queue and an external system in memory, in virtual time, and injects faults at boundaries: before
// or after any operation on the API server or on the external system. Start with Run, in a bubble of testing/synctest.
//
//	synctest.Test(t, func(t *testing.T) {
//		result, err := sim.Run(schedule, true)
//		...
//	})
//
// A Schedule names a scenario (the life of an object or two without faults), a class of external system (what makes a
// creation safe to repeat), and the faults. It fits on one line and determines the run: two runs of a schedule are the
// same. An Explorer tries all single faults and combinations of them, Random makes a schedule from a seed, and Shrink
// removes the faults that a failure does not need. Properties hold in every run; a Result has those that did not. A
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
// # What an Explorer leaves out
//
// A second fault is omitted where it would repeat another run:
//
//   - The state equals one before a fault that was tried: the objects, the external system, the memory of the process,
//     the answers to the pass, and the rest of the scenario, in this scenario or in one that began like it
//     (Explorer.After). Points in time are compared by whether they have passed, and the status of an object by its
//     relation to the external resource. The excuses of the earlier run have to be a subset, because fewer excuses only
//     make the judges stricter. See stateHash and Explorer.wasExplored.
//   - It ends a process, and the state outside the process equals one in which another fault of this kind ended one.
//     See deaths.
//   - It neither affects the operation nor is affected by it, such as an edit during an external call, and the next
//     operation of the pass follows at once: it is injected there. See Explorer.independent.
//   - It loses the answer of a read: that equals a read that fails.
//
// Up to its last fault, a schedule equals the run without that fault, so that this part is neither run nor judged
// again, except that its events and writes are searched for secrets if the last fault is the first one that makes
// errors of the external system contain some. The run starts shortly before the pass of the last fault, from a
// snapshot that another run took between two passes: the API server, the external system, the process with its cache,
// its queue and the memory of its reconciler, and the counters of the judges (checkpoint, snapshot). After its last
// fault, the run stops in a state from which another run ended without a violation, if the bounds that are judged
// over a whole run (passes, writes, requests, events) hold for the rest of that run, too (runCache).
//
// Two tests check this: TestResumeFromCheckpoint compares a run from a snapshot, step by step, with a complete one,
// and TestEqualStateHashesContinueAlike checks that after equal state hashes the next operation is the same, with at
// most one exception in twenty. Explorer.Whole runs every schedule completely, and Explorer.Unpruned omits no fault.
package sim

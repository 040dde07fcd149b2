// Package search explores the schedules of the simulator. It injects every fault at every boundary (before and after an
// operation) of a scenario, and combinations of faults. It omits runs whose results cannot differ from those of an
// earlier run. Start with Explorer.
//
// # What an Explorer omits
//
// An Explorer omits a second fault if the run would repeat another run. There are four cases:
//
//   - The state equals a state in which the fault was tried. The state consists of the objects, the external system,
//     the memory of the process, the answers to the current pass (a reconcile of an object), and the rest of the
//     scenario. Points in time are compared by whether they have passed. The status of an object is compared by its
//     relation to the external resource. The excuses of the other run have to be a subset, because its checks were then
//     stricter. The other run may be one of another scenario with the same beginning (Explorer.After). See
//     sim.StateHash and Explorer.wasExplored.
//   - The fault ends a process. In an equal state outside the process, another fault of the kind has ended a process
//     before. See deaths.
//   - The fault and the operation do not affect each other, such as an edit by a user and a call of the external
//     system. If the next operation of the pass follows at the same time, the fault is injected only at that operation.
//     See Explorer.independent.
//   - The fault loses the answer of a read. Such a run equals a run in which the read fails.
//
// # What an Explorer does not run again
//
// Up to its last fault, a schedule is identical to the run without that fault. This part is neither run nor checked
// again, with one exception: if the last fault is the first one that puts secrets into errors of the external system,
// the events and writes of this part are searched for secrets.
//
// A run starts shortly before the pass of its last fault, from a snapshot that another run took between two passes. A
// snapshot has the API server, the external system, the process with its cache, its queue and the memory of its
// reconciler, and the counters of the checks. See checkpoint and sim.Snapshot.
//
// After its last fault, a run stops in a state from which another run ended without a violation. The limits for a
// complete run (passes, writes, requests, events) have to hold for this run together with the rest of the other run.
// See runCache.
//
// Two tests check this. TestResumeFromCheckpoint compares a run from a snapshot, step by step, with a complete run.
// TestEqualStateHashesContinueAlike compares the next operations after equal state hashes. At most one of twenty may
// differ. Explorer.Whole runs every schedule completely, and Explorer.Unpruned omits no fault.
//
// An Explorer controls each run as its sim.Guide. The simulator does not import this package. The simulator hashes and
// copies its state, and the guide decides when.
package search

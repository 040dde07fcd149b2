// Package search explores the schedules of the simulator: it injects every fault at every boundary of a scenario, and
// combinations of faults, and omits what cannot differ from a run that it has made. Start with Explorer.
//
// # What an Explorer omits
//
// A second fault is omitted where it would repeat another run:
//
//   - The state equals one before a fault that was tried: the objects, the external system, the memory of the process,
//     the answers to the pass, and the rest of the scenario, in this scenario or in one that began like it
//     (Explorer.After). Points in time are compared by whether they have passed, and the status of an object by its
//     relation to the external resource. The excuses of the earlier run have to be a subset, because fewer excuses only
//     make the judges stricter. See sim.StateHash and Explorer.wasExplored.
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
// its queue and the memory of its reconciler, and the counters of the judges (checkpoint, sim.Snapshot). After its last
// fault, the run stops in a state from which another run ended without a violation, if the bounds that are judged
// over a whole run (passes, writes, requests, events) hold for the rest of that run, too (runCache).
//
// Two tests check this: TestResumeFromCheckpoint compares a run from a snapshot, step by step, with a complete one,
// and TestEqualStateHashesContinueAlike checks that after equal state hashes the next operation is the same, with at
// most one exception in twenty. Explorer.Whole runs every schedule completely, and Explorer.Unpruned omits no fault.
//
// An Explorer follows each run as its sim.Guide. The simulator does not import this package: it hashes and copies its
// state, and its guide decides when.
package search

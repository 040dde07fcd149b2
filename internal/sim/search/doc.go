// Package search explores the schedules of the simulator. It injects every fault at every boundary (before and after an
// operation) of a scenario, and combinations of faults. It omits runs whose results cannot differ from those of an
// earlier run. Start with Explorer.
//
// # What an Explorer omits
//
// A second fault is omitted if the run would repeat another run:
//
//   - The state equals the state before a fault that was tried. The state consists of the objects, the external system,
//     the memory of the process, the answers to the current pass, and the rest of the scenario. The other scenario may
//     be one with the same beginning (Explorer.After). Points in time are compared by whether they have passed. The
//     status of an object is compared by its relation to the external resource. The excuses of the earlier run have to
//     be a subset, because the checks are stricter with fewer excuses. See sim.StateHash and Explorer.wasExplored.
//   - The fault ends a process, and the state outside the process equals a state in which another fault of this kind
//     ended a process. See deaths.
//   - The fault neither affects the operation nor is affected by it, such as an edit during an external call, and the
//     next operation of the pass follows immediately. The fault is injected at that operation. See
//     Explorer.independent.
//   - The fault loses the answer of a read. The run would equal a run with a read that fails.
//
// Up to its last fault, a schedule is identical to the run without that fault. This part is neither run nor checked
// again. There is one exception: its events and writes are searched for secrets if the last fault is the first one that
// puts secrets into errors of the external system.
//
// The run starts shortly before the pass of the last fault, from a snapshot that another run took between two passes. A
// snapshot has the API server, the external system, the process with its cache, its queue and the memory of its
// reconciler, and the counters of the checks (checkpoint, sim.Snapshot). After its last fault, the run stops in a state
// from which another run ended without a violation. The limits for a complete run (passes, writes, requests, events)
// also have to hold for the rest of that other run (runCache).
//
// Two tests check this. TestResumeFromCheckpoint compares a run from a snapshot, step by step, with a complete run.
// TestEqualStateHashesContinueAlike checks that the next operations after equal state hashes are equal, with at most
// one exception in twenty. Explorer.Whole runs every schedule completely, and Explorer.Unpruned omits no fault.
//
// An Explorer controls each run as its sim.Guide. The simulator does not import this package. The simulator hashes and
// copies its state, and the guide decides when.
package search

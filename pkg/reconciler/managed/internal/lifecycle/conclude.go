package lifecycle

// A Stop says why a pass ended before a decision ended it.
type Stop int

// The stops.
const (
	NotStopped     Stop = iota // A decision ended the pass.
	Failed                     // A call or a write failed.
	Later                      // The call was not made; the time of the next try is known.
	ObjectGone                 // The object is gone, or another one has its name.
	Conflicted                 // What was read is stale.
	Fenced                     // This process must not act, or must not any more.
	CauseUnchanged             // Nothing has changed of what a terminal error waits for.
)

// A StatusWrite is the result of writing the status.
type StatusWrite int

// The writes of the status.
const (
	NotWritten       StatusWrite = iota // It was not tried yet.
	Written                             // It is stored, or there was nothing to store.
	StatusFailed                        // It failed for another reason than those below.
	StatusConflicted                    // What was read is stale.
	StatusObjectGone                    // The object is gone, or another one has its name.
	StatusFenced                        // It is left to the process that may act.
)

// ConcludeFacts are the facts at the end of a pass, after its decisions and actions.
type ConcludeFacts struct {
	Stop             Stop        // Why the pass ended, if no decision ended it.
	Released         bool        // This pass removed the finalizer: there is no pass after this one.
	ConflictsPersist bool        // So many passes in a row ended in a conflict that the conflict is reported.
	Interrupted      bool        // The process is asked to stop.
	Undoable         bool        // This pass has created a resource that is recorded nowhere else.
	StatusWrite      StatusWrite // What became of the write of the status.
}

// A Conclusion is how a pass ends, or a step before the end.
type Conclusion int

// The conclusions. UndoCreate and WriteStatus go on; all others end the pass.
const (
	WriteStatus     Conclusion = iota // Put the outcome into the conditions, and write the status.
	UndoCreate                        // Delete what was created for an object that is gone.
	Report                            // Emit the events, and answer the queue as the outcome says.
	Requeue                           // Requeue after the time that is known, and report nothing.
	Finish                            // The object is gone, or released: write nothing.
	RequeueConflict                   // Requeue with back-off, and report nothing: what was read is stale.
	Fence                             // Return the error: the object is left to the process that may act.
	AwaitChange                       // Requeue until something has changed that a terminal error waits for.
	Interrupt                         // Return the error: the object has not failed, the process stops.
)

// Conclude decides how a pass ends. The first case that applies wins.
func Conclude(f ConcludeFacts) Conclusion {
	switch {
	// The call was not made, and the time of the next try is known.
	case f.Stop == Later:
		return Requeue
	// The object is gone, and no other pass knows of the resource that this one has created.
	case f.gone() && f.Undoable:
		return UndoCreate
	// The object is gone, or its finalizer was removed: there is no status to write.
	case f.gone() || f.Stop == NotStopped && f.Released:
		return Finish
	// What was read is stale, and the next pass reads it anew.
	case f.conflicted() && !f.ConflictsPersist:
		return RequeueConflict
	// Another process may reconcile the object, so this process writes nothing to it.
	case f.Stop == Fenced || f.StatusWrite == StatusFenced:
		return Fence
	// The terminal error is reported already.
	case f.Stop == CauseUnchanged:
		return AwaitChange
	// The process is asked to stop, which is no failure of the object.
	case f.Stop != NotStopped && f.Interrupted && f.StatusWrite == NotWritten:
		return Interrupt
	// The outcome is not in the status yet.
	case f.StatusWrite == NotWritten:
		return WriteStatus
	// The status is written, or could not be.
	default:
		return Report
	}
}

// gone says whether the pass, or the write of its status, has shown that the object is gone.
func (f ConcludeFacts) gone() bool { return f.Stop == ObjectGone || f.StatusWrite == StatusObjectGone }

// conflicted says whether the pass, or the write of its status, ended in a conflict. A conflict of the
// pass does not count any more once the status that reports it is written.
func (f ConcludeFacts) conflicted() bool {
	return f.Stop == Conflicted && f.StatusWrite == NotWritten || f.StatusWrite == StatusConflicted
}

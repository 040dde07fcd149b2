package lifecycle

// AdmitFacts are the facts that are known without an observation. They are about the request of the queue, and about
// the object that the request names.
type AdmitFacts struct {
	// Known when the request is read.

	Restored   bool    // The API server was restored to an earlier state: the process is about to restart.
	Reading    Reading // What the cache and, if that is stale, the API server have.
	MayRemain  bool    // The object was not found, its resource may be left over, and no live read confirmed its deletion.
	Deferrable bool    // The object is healthy, and reconciled later to spread the load after a start.

	// Read from the object, before each decision.

	Paused       bool // The user paused the object.
	Invalid      bool // A policy has a value that is unknown or not supported.
	Deleted      bool // The object is being deleted.
	HasFinalizer bool // Our finalizer keeps the object.

	// MayDelete: the policies allow Delete, and no guard keeps the resource. Admit needs it only for an object that is
	// being deleted. LeftoverOf needs it for every object.
	MayDelete bool
}

// A Reading is the result of reading the object.
type Reading int

// The readings.
const (
	NotRead          Reading = iota // Neither the cache nor the API server answered.
	Found                           // The object was found, in no version older than the last write of this process.
	NotFound                        // There is no such object.
	DeletedButCached                // The API server has none, and the cache still has it.
)

// An Admission says how the reconciler handles a request of the queue.
type Admission int

// The admissions. After Reconcile the pass goes on. All other admissions end the pass.
const (
	Reconcile    Admission = iota // Gather the facts, and decide.
	AwaitRestart                  // Do nothing: the next process lists everything anew.
	AwaitCache                    // Requeue until the cache has what the API server has.
	ReturnError                   // Return the error of the read: the queue backs off.
	Forget                        // Forget what is known of an object that is gone.
	Defer                         // Requeue at a random moment of the poll interval.
	Pause                         // Report that the object is paused.
	Ignore                        // Let the object go: nothing is left to do.
	Reject                        // Report which policy is unknown.
	Orphan                        // Remove the finalizer and leave the external resource, as the policy says.
)

// String returns the admission's name.
func (a Admission) String() string {
	names := [...]string{
		"Reconcile", "AwaitRestart", "AwaitCache", "ReturnError", "Forget", "Defer", "Pause", "Ignore", "Reject",
		"Orphan",
	}
	if a < 0 || int(a) >= len(names) {
		return "invalid"
	}

	return names[a]
}

// Admit decides whether an object is reconciled. The first case that applies wins. Admit is called when the object is
// read, with the first four facts. It is called again before each decision of the pass, with the other facts.
func Admit(f AdmitFacts) Admission {
	switch {
	// After a restore of the API server nothing that this process knows is certain.
	case f.Restored:
		return AwaitRestart
	// An error of the read says nothing of the object.
	case f.Reading == NotRead:
		return ReturnError
	// The cache is stale, or the object was not found and its deletion has to be confirmed.
	case f.Reading == DeletedButCached || f.MayRemain:
		return AwaitCache
	// The object is gone.
	case f.Reading == NotFound:
		return Forget
	// A healthy object is not reconciled at once after a start.
	case f.Deferrable:
		return Defer
	// A paused object is not reconciled, even if it is being deleted.
	case f.Paused:
		return Pause
	// The object is being deleted and does not have our finalizer: nothing is left to do.
	case f.Deleted && !f.HasFinalizer:
		return Ignore
	// A policy has a value that is unknown or not supported, so the intent of the user is unknown: nothing is
	// changed until it is corrected.
	case f.Invalid:
		return Reject
	// The policies do not allow Delete, or a guard keeps the resource: the finalizer is removed, and the external
	// resource stays.
	case f.Deleted && !f.MayDelete:
		return Orphan
	// The object exists, and its next action is decided.
	default:
		return Reconcile
	}
}

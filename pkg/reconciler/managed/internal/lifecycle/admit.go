package lifecycle

// A Reading says what reading the object led to.
type Reading int

// The readings.
const (
	NotRead          Reading = iota // Neither the cache nor the API server answered.
	Found                           // The object, in no version older than the last write of this process.
	NotFound                        // There is no such object.
	DeletedButCached                // The API server has none, and the cache still has it.
)

// AdmitFacts are what is known before anything is observed.
type AdmitFacts struct {
	Restored   bool    // The API server was restored to an earlier state: the process is about to restart.
	Reading    Reading // What the cache and, if that is stale, the API server have.
	MayRemain  bool    // It was not found, may leave its external resource, and its deletion is not confirmed.
	Deferrable bool    // It is healthy, and reconciled later to spread the load after a start.
}

// An Admission is what is done with a request of the queue.
type Admission int

// The admissions.
const (
	Reconcile    Admission = iota // Connect, observe, decide.
	AwaitRestart                  // Do nothing: the next process lists everything anew.
	AwaitCache                    // Requeue until the cache has what the API server has.
	ReturnError                   // Return the error of the read: the queue backs off.
	Forget                        // Forget what is known of an object that is gone.
	Defer                         // Requeue at a random moment of the poll interval.
)

// Admit decides whether a request of the queue is reconciled. The first case that applies wins.
func Admit(f AdmitFacts) Admission {
	switch {
	case f.Restored:
		return AwaitRestart
	case f.Reading == NotRead:
		return ReturnError
	case f.Reading == DeletedButCached || f.MayRemain:
		return AwaitCache
	case f.Reading == NotFound:
		return Forget
	case f.Deferrable:
		return Defer
	default:
		return Reconcile
	}
}

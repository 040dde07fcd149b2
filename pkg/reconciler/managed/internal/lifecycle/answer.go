package lifecycle

// An Answer is the user's answer to the question whether a creation has made a resource. The reconciler asks about a
// creation whose result is unknown or was never found.
type Answer int

// The answers.
const (
	Unanswered Answer = iota // The user was not asked, or the record of the creation is still there.
	GivenUp                  // The record was removed, as the condition asks, and nothing else.
	Taken                    // All annotations are gone, as after a replace: that is no answer.
	Answered                 // The record of the creation that was given up was written back: the answer holds.
	Overruled                // The same, but another creation may have been begun since, and its record lost.
)

// A Question is the state of an object whose user may have been asked about a creation.
type Question struct {
	Asked         bool // The condition asks to remove the record of the creation.
	Recorded      bool // The record is there: the creation was begun, or succeeded.
	Noted         bool // The note that the user was asked is there; the condition does not ask to remove it.
	Begun         bool // Only the id of the attempt is left of the record.
	InStatus      bool // The status names the creation, as it does once the note is stored.
	HasFinalizers bool // The object has a finalizer, of whichever owner.
	GaveUp        bool // The status says that the record is of a creation that was given up, or of an earlier one.
	New           bool // This process has not reconciled the object before.
	Ended         bool // This process has reconciled it before, and no creation since has succeeded.
}

// Answer returns the user's answer, which the annotations contain, to the question whether a creation has made a
// resource. A user is not asked again about a creation that was given up.
//
// A process that has not reconciled the object before trusts the record in the annotations, and asks. Another
// creation may have begun since, and its record may be lost.
//
// An attempt of another runtime is neither in the status nor in the note of a question. For such an attempt, only a
// removed finalizer distinguishes a replace of the object from an answer.
func (q Question) Answer() Answer {
	switch {
	case q.GaveUp && q.Recorded && q.Ended:
		return Answered
	case q.GaveUp && q.Recorded && q.New:
		return Overruled
	case !q.Asked || q.Recorded:
		return Unanswered
	case q.Noted || q.Begun || q.HasFinalizers && !q.InStatus:
		return GivenUp
	default:
		return Taken
	}
}

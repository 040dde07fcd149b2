package lifecycle

// An Answer is what a user has said to the question what is to become of a creation
// whose result is not known, or was never found.
type Answer int

// The answers.
const (
	Unanswered Answer = iota // Nobody was asked, or the record of the creation is still there.
	GivenUp                  // The record was removed, as the question says, and nothing else.
	Taken                    // All annotations are gone, as a replace takes them: nobody has answered.
	Answered                 // The record of what was given up was written back: the answer holds.
	Overruled                // The same, but another creation may have been begun since whose record is lost.
)

// A Question is what is known of an object whose user may have been asked.
type Question struct {
	Asked    bool // The condition asks to remove the record of the creation.
	Recorded bool // The record is there: the creation was begun, or succeeded.
	Noted    bool // The note is there that the user was asked, which nobody is asked to remove.
	Begun    bool // The id of the attempt is there, and nothing else of the record.
	Told     bool // The status says which creation it is. It does so once the note is stored.
	Held     bool // A finalizer is there.
	GaveUp   bool // The status says that the record is of what was given up, or of what came before.
	New      bool // This process has not looked before.
	Ended    bool // This process has looked before, and what was begun since came to nothing.
}

// Answer returns what the annotations say. Of an attempt that another runtime has begun the
// status does not tell, and there is no note: only a replace that takes the finalizer, too, is
// told from an answer. Of what a user has given up he is not asked again. A process that has not
// looked before goes by the record, and asks: another creation may have been begun whose record is lost.
func (q Question) Answer() Answer {
	switch {
	case q.GaveUp && q.Recorded && q.Ended:
		return Answered
	case q.GaveUp && q.Recorded && q.New:
		return Overruled
	case !q.Asked || q.Recorded:
		return Unanswered
	case q.Noted || q.Begun || q.Held && !q.Told:
		return GivenUp
	default:
		return Taken
	}
}

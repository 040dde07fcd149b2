package lifecycle

// A Priority is how soon a pass is to be made when there is more to do than can be
// done at once.
type Priority int

// The urgencies, the least urgent one first.
const (
	Poll     Priority = iota // All was as it should be when it was last seen.
	Retry                    // What was tried last failed.
	Progress                 // Something outside is being made, changed or deleted.
	User                     // Somebody waits for it.
)

// A PriorityFacts is what is known of an object before anything is asked outside.
type PriorityFacts struct {
	Requested bool // Its user wants something that was not tried yet: a change, its deletion, or a look.
	Failed    bool // What was tried last failed.
	Busy      bool // Its resource is not ready, or not gone yet.
	Healthy   bool // It says of this very spec that all is as it should be.
	Known     bool // This process has come upon it before.
}

// Priority of the pass that is made.
func (s PriorityFacts) Priority() Priority {
	switch {
	case s.Requested:
		return User
	case s.Failed:
		return Retry
	case s.Busy:
		return Progress
	default:
		return Poll
	}
}

// Deferrable says whether the object need not be looked at now: a process that begins
// comes upon all there are at once, and most of them are well.
func (s PriorityFacts) Deferrable() bool {
	return s.Healthy && !s.Known && !s.Requested && !s.Failed && !s.Busy
}

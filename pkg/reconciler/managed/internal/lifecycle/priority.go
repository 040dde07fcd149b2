package lifecycle

// A Priority is the priority of a pass in the queue.
type Priority int

// The priorities, the lowest first.
const (
	Poll     Priority = iota // The object was healthy when it was last reconciled.
	Retry                    // The last pass failed.
	Progress                 // The external resource is being created, changed or deleted.
	User                     // A user waits for it.
)

// PriorityFacts are the facts about an object before any call of the external system.
type PriorityFacts struct {
	Requested bool // Its user requested something that was not tried yet: a change, its deletion, or a reconcile.
	Failed    bool // What was tried last failed.
	Busy      bool // Its external resource is not ready, or not gone yet.
	Healthy   bool // Its status says of its current generation that it is healthy.
	Known     bool // This process has reconciled it before.
}

// Priority returns the priority of this pass.
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

// Deferrable reports whether the object can be reconciled later. After a start all objects are due at once, and most
// of them are healthy.
func (s PriorityFacts) Deferrable() bool {
	return s.Healthy && !s.Known && !s.Requested && !s.Failed && !s.Busy
}

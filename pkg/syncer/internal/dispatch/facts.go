package dispatch

// Facts are all that a decision is made from. Here is the virtual cluster, there is
// the host.
type Facts struct {
	// Read from both caches.

	Stale        bool // A cache is behind what this process itself wrote.
	Here         bool // The virtual object exists.
	Leaving      bool // The virtual object is being deleted.
	Held         bool // Our finalizer keeps the virtual object.
	There        bool // The host object exists.
	LeavingThere bool // The host object is being deleted.
	Foreign      bool // The host object is not ours, and no policy says that we may have it.
	Former       bool // The host object is the image of an object that had this name before.

	// Learned in this pass.

	Confirmed bool // A live read found what the virtual cache says.

	// What the syncer can do and its options say.

	Up        bool // It wants to see host objects that have no virtual one.
	HostFirst bool // Host objects go before virtual ones.
	Revive    bool // Virtual objects that are being deleted get a host object, as they used to.
	Silent    bool // Nobody is told of conflicts.
}

// An Action is what a pass does next.
type Action int

// The actions. Hold and Confirm go on: they add to what is known and decide again.
// All others end the pass.
const (
	none Action = iota

	Rest      // Nothing is to be done.
	AwaitSelf // Wait until the caches show what we wrote.
	AwaitHost // Wait until the host object is gone.
	Confirm   // Ask the virtual API server itself.
	Hold      // Put our finalizer on the virtual object.
	Release   // Take our finalizer from the virtual object.
	Delete    // Delete the host object.
	Refuse    // Leave a foreign host object alone, and tell the user.
	Overlook  // Leave a foreign host object alone, and tell nobody.
	Down      // Let the syncer make a host object.
	Up        // Let the syncer see a host object that has no virtual one.
	Sync      // Let the syncer see both objects.

	end // Not an action.
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{"none", "Rest", "AwaitSelf", "AwaitHost", "Confirm", "Hold", "Release", "Delete", "Refuse", "Overlook", "Down", "Up", "Sync"}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}
	return names[a]
}

// Actions returns every action there is.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := Rest; a < end; a++ {
		all = append(all, a)
	}
	return all
}

// Ends says whether the pass is over after the action.
func (a Action) Ends() bool { return a != Hold && a != Confirm }

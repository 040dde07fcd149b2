package passage

// Facts are all that a decision is made from.
type Facts struct {
	// Read from the onboarding cluster.

	Found   bool // The object exists.
	Leaving bool // It is being deleted.
	Held    bool // Our finalizer is on it.
	Paused  bool // Its annotation says that it is to be left alone.
	Made    bool // Its status says that the domain may have made something that is not removed.
	Record  bool // A condition of ours says so. Otherwise that is presumed, or the runtime before has said it.

	// Learned in this pass.

	ConfigAsked   bool    // The configuration was looked for.
	ConfigFound   bool    // There is one. For a deletion the last one that was known will do.
	ConfigUnknown bool    // It cannot be told at the moment whether there is one.
	Defaulted     bool    // The object was filled up, or needs no filling up.
	Request       Request // What became of the requests for access.
	AccessAsked   bool    // Access was asked for.
	Granted       bool    // There is access to all clusters.
	Denied        bool    // The platform refuses it.
	ClusterGone   bool    // A cluster does not exist any more.
	NotOwned      bool    // A request of the name of ours belongs to somebody else.
	Cleaned       bool    // The domain has removed what it made.
	Withdrawn     bool    // Access was given back.

	// What the options say.

	DeletePaused   bool // Deletion goes on while an object is paused.
	OrphanGone     bool // What was in a cluster that is gone is forgotten.
	NoConfigOrphan bool // Without a configuration, what was made stays.
	NoConfigDelete bool // Without a configuration, the domain deletes with an empty one.
}

// A Request is what became of the requests for access of an object. If they differ, the
// greatest counts.
type Request int

// The states of requests.
const (
	Unchecked Request = iota // It was not looked at them.

	Asked   // They are there.
	Missing // One does not exist.
	Leaving // One is being deleted: access is being taken away.
)

// An Action is what a pass does next.
type Action int

// The actions. Those up to Withdraw go on if they can: they add to what is known, and
// the pass decides again. All others end it.
const (
	none Action = iota

	Configure // Look for the configuration.
	Hold      // Put our finalizer on the object.
	Default   // Fill up the object.
	Check     // Look whether access is being taken away.
	Access    // Ask for access to the clusters.
	Clean     // Let the domain remove what it made.
	Withdraw  // Give access back.

	Rest        // Nothing is to be done.
	Pause       // Leave the object alone, and say so.
	AwaitConfig // Wait until it can be told whether there is a configuration.
	NeedConfig  // Wait for a configuration, and say so.
	AwaitAccess // Wait for access, and say so.
	Deny        // Say that access is denied.
	Block       // Say what deletion waits for.
	Work        // Let the domain create or update.
	Release     // Take our finalizer from the object.

	end // Not an action.
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{
		"none", "Configure", "Hold", "Default", "Check", "Access", "Clean", "Withdraw",
		"Rest", "Pause", "AwaitConfig", "NeedConfig", "AwaitAccess", "Deny", "Block", "Work", "Release",
	}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}

	return names[a]
}

// Actions returns every action there is.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := Configure; a < end; a++ {
		all = append(all, a)
	}

	return all
}

// Ends says whether the pass is over after the action in any case.
func (a Action) Ends() bool { return a > Withdraw }

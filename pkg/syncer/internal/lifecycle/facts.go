package lifecycle

// Facts are the input of Decide. Each field is a fact about the two objects of a pass, or an option
// of the syncer.
type Facts struct {
	// Read from the caches.

	Stale          bool // A cache does not contain the last write of this process yet.
	VirtualExists  bool // The virtual object exists.
	VirtualDeleted bool // The virtual object has a deletion timestamp.
	HasFinalizer   bool // The virtual object has the syncer's finalizer.
	HostExists     bool // The host object exists.
	HostDeleted    bool // The host object has a deletion timestamp.
	Foreign        bool // The virtual object does not own the host object, and the conflict policy does not take it over.
	UIDMismatch    bool // The host object is the image of a former virtual object with this name.

	// Learned in this pass.

	Confirmed bool // A live read of the virtual API server has confirmed the cache.

	// Capabilities and options of the syncer.

	WantsSyncUp     bool // The syncer is an UpSyncer.
	DeleteHostFirst bool // The host object is deleted before the virtual one.
	RecreateDeleted bool // A virtual object that is being deleted gets a host object again, for compatibility.
	IgnoreConflicts bool // Conflicts are not reported.
}

// An Action is the next step of a pass.
type Action int

// The actions. After AddFinalizer and Confirm the pass continues with new facts. All
// other actions end the pass.
const (
	none Action = iota

	Nothing           // There is nothing to do.
	AwaitCache        // Wait until the caches contain the process's own writes.
	AwaitHostDeletion // Wait until the host object is gone.
	Confirm           // Read the virtual object from the API server.
	AddFinalizer      // Add the syncer's finalizer to the virtual object.
	RemoveFinalizer   // Remove the syncer's finalizer from the virtual object.
	DeleteHost        // Delete the host object.
	ReportConflict    // Leave a foreign host object alone and report the conflict.
	IgnoreConflict    // Leave a foreign host object alone without a report.
	SyncDown          // Call SyncDown, which creates the host object.
	SyncUp            // Call SyncUp with a host object that has no virtual object.
	Sync              // Call Sync with both objects.

	end // Not an action.
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{
		"none", "Nothing", "AwaitCache", "AwaitHostDeletion", "Confirm", "AddFinalizer", "RemoveFinalizer",
		"DeleteHost", "ReportConflict", "IgnoreConflict", "SyncDown", "SyncUp", "Sync",
	}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}
	return names[a]
}

// Actions returns every action there is.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := Nothing; a < end; a++ {
		all = append(all, a)
	}
	return all
}

// Ends reports whether the action ends the pass.
func (a Action) Ends() bool { return a != AddFinalizer && a != Confirm }

package lifecycle

// Facts are the input of Decide. In the zero value nothing is known and no option is set.
type Facts struct {
	// Read from the onboarding cluster.

	Exists           bool // The object exists.
	Deleted          bool // The object has a deletion timestamp.
	HasFinalizer     bool // The object has our finalizer.
	Paused           bool // An annotation of the object pauses reconciliation.
	MaybeCreated     bool // The domain may have created something that it has not deleted yet.
	CreationRecorded bool // ServiceCreated is True. Otherwise MaybeCreated is presumed, or comes from a previous runtime.

	// Learned in this pass.

	ConfigRead      bool         // The configuration was read.
	ConfigFound     bool         // There is a configuration. A deletion may use the last known configuration.
	ConfigUnknown   bool         // The configuration cannot be read now, so it is unknown whether there is one.
	Defaulted       bool         // The defaults were applied, or there are none.
	Requests        RequestState // The state of the AccessRequests.
	AccessRequested bool         // Access was requested.
	Granted         bool         // All clusters are connected.
	Denied          bool         // The platform denied access.
	ClusterGone     bool         // A cluster does not exist any more.
	NotOwned        bool         // A request with the same name has another owner.
	ServiceDeleted  bool         // The Delete of the domain has finished.
	AccessReleased  bool         // Access was released.

	// Options.

	DeleteWhenPaused    bool // A deletion continues although the object is paused.
	OrphanOnClusterGone bool // A deletion abandons what was in a cluster that no longer exists.
	OrphanWithoutConfig bool // Without a configuration, a deletion abandons what was created.
	DeleteWithoutConfig bool // Without a configuration, Delete gets an empty configuration.
}

// A RequestState is the combined state of the AccessRequests of an object. It is the greatest of their states.
type RequestState int

// The states of AccessRequests.
const (
	RequestsUnchecked RequestState = iota // The AccessRequests were not read in this pass.

	RequestsPresent // All AccessRequests exist.
	RequestMissing  // An AccessRequest does not exist.
	RequestDeleting // An AccessRequest is being deleted, so access is being revoked.
)

// An Action is what a pass does next.
type Action int

// The actions. If those up to ReleaseAccess succeed, they add facts, and the pass decides
// again. All others end the pass.
const (
	none Action = iota

	ReadConfig    // Read the configuration.
	AddFinalizer  // Add our finalizer to the object.
	Default       // Apply the defaults of the domain to the object.
	CheckRequests // Read the AccessRequests, which show whether access is being revoked.
	RequestAccess // Request access to the clusters.
	DeleteService // Call Delete of the domain.
	ReleaseAccess // Release access to the clusters.

	Nothing               // Do nothing.
	ReportPaused          // Report that the object is paused.
	AwaitConfig           // Wait until the configuration can be read.
	ReportConfigMissing   // Report that there is no configuration.
	AwaitAccess           // Report that access is not granted yet.
	ReportAccessDenied    // Report that access is denied.
	ReportDeletionBlocked // Report what blocks the deletion.
	CreateOrUpdate        // Call CreateOrUpdate of the domain.
	RemoveFinalizer       // Remove our finalizer from the object.

	end // The end of the list, not an action.
)

// String returns the name of the action, or "none" for an unknown value.
func (a Action) String() string {
	names := [...]string{
		"none", "ReadConfig", "AddFinalizer", "Default", "CheckRequests", "RequestAccess", "DeleteService",
		"ReleaseAccess", "Nothing", "ReportPaused", "AwaitConfig", "ReportConfigMissing", "AwaitAccess",
		"ReportAccessDenied", "ReportDeletionBlocked", "CreateOrUpdate", "RemoveFinalizer",
	}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}

	return names[a]
}

// Actions returns all actions.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := ReadConfig; a < end; a++ {
		all = append(all, a)
	}

	return all
}

// Ends reports whether the action always ends the pass.
func (a Action) Ends() bool { return a > ReleaseAccess }

// nothingToDelete reports whether Delete is not needed: nothing was created in the clusters, or a previous runtime
// deleted it and releases access. This runtime records that it created something, and that it releases access.
func (f Facts) nothingToDelete() bool {
	if f.Requests == RequestDeleting {
		return !f.CreationRecorded
	}

	return f.Requests != RequestsPresent && !f.MaybeCreated
}

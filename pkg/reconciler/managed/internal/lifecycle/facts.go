package lifecycle

// Facts are all input of a decision about an object that Admit has admitted.
type Facts struct {
	// Read from the object.

	Object            Object      // Whether it is being deleted, and whether our finalizer keeps it.
	ForeignFinalizers bool        // A finalizer of another owner has to be removed before the resource is deleted.
	Class             CreateClass // What makes it safe to repeat a create.
	MayCreate         bool        // The policies allow Create, and no recreation waits for the request of a user.
	MayUpdate         bool        // The policies allow Update.

	// NameKnown: the external name is stored, so that a resource that is not found yet can be deleted.
	NameKnown bool

	// Attempt: the state of the last attempt to create.
	Attempt Attempt

	// Change: the last change of the external system, if its effect may not be visible yet.
	Change Change

	// Learned in this pass.

	Presence  Presence  // Whether the external resource exists now.
	Doubt     Doubt     // Why the absence or the owner of the resource is not certain.
	Ownership Ownership // Whether the object owns the resource, if the resource exists.
	UpToDate  bool      // The external resource is as desired.
	Metadata  Metadata  // Whether Observe found metadata that have to be stored in the object.

	// Unpublished: the connection details are not in their Secret yet.
	Unpublished bool
}

// NeedsPermission reports whether a decision may depend on MayCreate or MayUpdate. It is false before an observation.
// It is also false if the resource is as desired, as in most passes.
func (f Facts) NeedsPermission() bool {
	return f.Presence > ListIncomplete && !(f.Presence == Present && f.UpToDate)
}

// resultUnobserved says whether the result of the last attempt was never observed.
func (f Facts) resultUnobserved() bool { return f.Attempt == Unknown || f.Attempt == CreatedUnobserved }

// nameUnknown says whether the stored external name may not lead to the result of the last attempt. No name is
// stored, or the result may have another name.
func (f Facts) nameUnknown() bool {
	return f.Attempt == Unknown || f.Attempt == CreatedUnobserved && !f.NameKnown
}

// repeatable says whether a repeated create makes no second resource.
func (f Facts) repeatable() bool { return f.Class == Named || f.Class == Token }

// mayAppear says whether a created resource may exist although it was not found.
func (f Facts) mayAppear() bool { return f.Doubt == Grace || f.Attempt == CreatedUnobserved }

// awaitsAbsence says whether the absence of the resource is not confirmed yet. In the grace period a delete
// confirms the absence of a resource that was observed before. The absence of a resource that was never observed is
// confirmed at the end of the period.
func (f Facts) awaitsAbsence() bool {
	return f.Doubt == Unconfirmed || f.Doubt == Grace && (f.Attempt == CreatedUnobserved || f.Change == NoChange)
}

// An Object is the state of the managed resource. There is no state for an object that is being deleted without our
// finalizer, because Admit does not admit such an object.
type Object int

// The states of the object.
const (
	NoFinalizer  Object = iota // It is not being deleted, and does not have our finalizer yet.
	HasFinalizer               // It is not being deleted, and our finalizer keeps it.
	Deleted                    // It is being deleted, and our finalizer keeps it.
)

// A CreateClass says what makes it safe to repeat a create whose result is unknown.
type CreateClass int

// The classes.
const (
	Opaque   CreateClass = iota // Nothing makes it safe.
	Named                       // The provider chooses the external name.
	Token                       // A create with the same token leads to the same resource.
	Findable                    // The result of a create can be looked up.
)

// String returns the class's name.
func (c CreateClass) String() string {
	names := [...]string{"Opaque", "Named", "Token", "Findable"}
	if c < 0 || int(c) >= len(names) {
		return "invalid"
	}

	return names[c]
}

// An Attempt is the state of the last attempt to create.
type Attempt int

// The attempts.
const (
	Settled           Attempt = iota // There was none, it failed, or its result was observed.
	Unknown                          // A create was begun, and its result is unknown.
	CreatedUnobserved                // A create succeeded, and its result was never observed.
	Replaced                         // A replace removed the record of the last creation, and wrote another external name.
	Superseded                       // Another runtime has created since, under another external name.
)

// A Change is the last change of the external system. If this pass has made a change and a delete was sent recently,
// the value is Mutated.
type Change int

// The changes.
const (
	NoChange   Change = iota // There was none whose effect is waited for.
	DeleteSent               // A delete was sent, recently enough to wait for its effect.
	Mutated                  // This pass has made its one change, whatever was sent before.
)

// A Presence says whether the external resource exists.
type Presence int

// The presences.
const (
	Unobserved     Presence = iota // There is no observation since the last change.
	ListIncomplete                 // A shared list that may show it is not complete yet.
	Listed                         // A shared list shows it; that is no observation yet.
	Absent                         // The external resource was not found.
	Present                        // The external resource exists.
)

// A Doubt says why an absence, or a foreign owner, is not certain.
type Doubt int

// The doubts.
const (
	NoDoubt     Doubt = iota // There is no reason to doubt.
	Grace                    // A creation succeeded so recently that "not found" may be wrong.
	Unconfirmed              // No resource of ours was found, and that is not confirmed yet.
)

// An Ownership says whether an external resource is ours.
type Ownership int

// The ownerships.
const (
	Ours    Ownership = iota // It is ours, or a policy allows its adoption.
	Foreign                  // It is not ours, and no policy allows its adoption.
)

// Metadata says whether an observation found metadata that have to be stored in the object.
type Metadata int

// The metadata.
const (
	Stored        Metadata = iota // The object has all that was found.
	Dirty                         // Metadata were found that the object does not have.
	SettlesCreate                 // The result of a create whose response was lost was found: its name has to be stored.
)

// Permissions are what the policies of the object and of its provider allow.
type Permissions struct {
	Create, Update, Delete bool
}

// An Action is what a pass does next.
type Action int

// The actions. After Observe, ConfirmListed, PersistOwnership, Publish, Create, Update and Delete, the pass gathers the
// facts and decides again. All other actions end the pass.
const (
	none Action = iota

	Observe          // Connect if necessary, and observe the external resource.
	ConfirmListed    // Use the item of a shared list as the observation.
	AwaitList        // Requeue: a shared list is not complete yet.
	ObserveAlone     // Requeue: an observation has to confirm the item of a list.
	Abandon          // Remove the finalizer and leave the external resource, which is not ours.
	AwaitFinalizers  // Wait until others have removed their finalizers.
	AwaitGone        // Wait until the external resource is gone.
	Delete           // Request the deletion of the external resource.
	AskUser          // Ask the user: it is unknown whether a create had an effect.
	RemoveFinalizer  // Remove the finalizer: the external resource is gone.
	ReportNotOwned   // Report that the external resource has another owner, and leave it unchanged.
	PersistOwnership // Store the finalizer, the external name and what Observe found.
	Publish          // Publish the connection details.
	Keep             // Report that the external resource is as desired.
	AwaitEffect      // Wait until an update is visible.
	Tolerate         // Report a difference that the policy does not allow to change.
	Update           // Update the external resource.
	AwaitExistence   // Wait until the created resource is visible.
	ReportMissing    // Report a missing resource that the policy does not allow to create.
	RestoreRecord    // Restore the record of the last creation, with its external name.
	Create           // Create the external resource.

	end // Not an action.
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{
		"none", "Observe", "ConfirmListed", "AwaitList", "ObserveAlone", "Abandon", "AwaitFinalizers", "AwaitGone", "Delete",
		"AskUser", "RemoveFinalizer", "ReportNotOwned", "PersistOwnership", "Publish", "Keep", "AwaitEffect",
		"Tolerate", "Update", "AwaitExistence", "ReportMissing", "RestoreRecord", "Create",
	}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}

	return names[a]
}

// Ends reports whether the action ends the pass.
func (a Action) Ends() bool {
	return a != Observe && a != ConfirmListed && a != PersistOwnership && a != Publish && !a.Mutates()
}

// Mutates reports whether the action changes the external system.
func (a Action) Mutates() bool { return a == Create || a == Update || a == Delete }

// Actions returns every action there is.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := Observe; a < end; a++ {
		all = append(all, a)
	}

	return all
}

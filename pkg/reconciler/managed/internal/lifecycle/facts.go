package lifecycle

// Facts are all that a decision is made from.
type Facts struct {
	// Read from the object.

	Paused            bool  // The user asked us to keep our hands off.
	Invalid           bool  // A policy has a value nobody knows.
	Deleted           bool  // The object has a deletion timestamp.
	HasFinalizer      bool  // Our finalizer keeps the object.
	ForeignFinalizers bool  // Somebody else's finalizer is to go before the resource does.
	Class             Class // What makes it safe to repeat a create.
	May               Permissions

	// NameKnown: the external name is stored, so that what cannot be found
	// yet can be deleted.
	NameKnown bool

	// Attempt: what is known of the last attempt to create.
	Attempt Attempt

	// DeleteSent: a delete was sent, lately enough to wait for its effect.
	DeleteSent bool

	// Learned in this pass.

	Presence      Presence  // Whether the external resource exists now.
	Doubt         Doubt     // Why its absence, or whose it is, may not be so.
	Ownership     Ownership // Whose it is, if it exists.
	UpToDate      bool      // It is as desired.
	Dirty         bool      // Observe found something that has to be stored in the object.
	SettlesCreate bool      // It is what a create led to whose result was not known.

	// Unpublished: what one needs to connect to it is not in its Secret yet.
	Unpublished bool

	Mutated bool // This pass has made its one change outside.
}

// NeedsPermission says whether a decision may depend on May. It does not before a look,
// nor when the resource is as desired, which is how most passes end.
func (f Facts) NeedsPermission() bool {
	return f.Deleted || f.Presence != Unobserved && !(f.Presence == Present && f.UpToDate)
}

// unobserved says whether what the last attempt led to was never observed.
func (f Facts) unobserved() bool { return f.Attempt == Unknown || f.Attempt == CreatedUnobserved }

// lost says whether that cannot be deleted, because its name is not known.
func (f Facts) lost() bool {
	return f.Attempt == Unknown || f.Attempt == CreatedUnobserved && !f.NameKnown
}

// repeatable says whether a create can be repeated without another resource being created.
func (f Facts) repeatable() bool { return f.Class == Named || f.Class == Token }

// mayAppear says whether what was created may exist although it was not found.
func (f Facts) mayAppear() bool { return f.Doubt == Grace || f.Attempt == CreatedUnobserved }

// deleteMade says whether a delete was sent recently, or this pass has made its one change.
func (f Facts) deleteMade() bool { return f.DeleteSent || f.Mutated }

// awaitsAbsence says whether it is not believed yet that nothing exists.
func (f Facts) awaitsAbsence() bool {
	return f.Doubt == Unconfirmed || f.Doubt == Grace && (f.Attempt == CreatedUnobserved || !f.deleteMade())
}

// A Class says what makes it safe to repeat a create whose result is not known.
type Class int

// The classes.
const (
	Opaque   Class = iota // Nothing does.
	Named                 // The external name is chosen by us.
	Token                 // A create with the same token leads to the same resource.
	Findable              // What was created can be looked up.
)

// String returns the class's name.
func (c Class) String() string {
	names := [...]string{"Opaque", "Named", "Token", "Findable"}
	if c < 0 || int(c) >= len(names) {
		return "invalid"
	}

	return names[c]
}

// A Presence says whether the external resource exists.
type Presence int

// The presences.
const (
	Unobserved Presence = iota // Nobody has looked since the last effect.
	Listed                     // A list shows it; that is no observation yet.
	Absent                     // The external resource was not found.
	Present                    // The external resource exists.
)

// An Attempt says what is known of the last attempt to create.
type Attempt int

// The attempts.
const (
	Settled           Attempt = iota // There was none, it failed, or its result was seen.
	Unknown                          // A create was begun whose result is not known.
	CreatedUnobserved                // A create succeeded, and no observation has found its result.
	Replaced                         // A replace took the record of the last creation, and wrote another external name.
	Superseded                       // Another runtime has created since, under another external name.
)

// A Doubt says why an absence, or that what exists is not ours, may not be so.
type Doubt int

// The doubts.
const (
	NoDoubt     Doubt = iota // There is no reason to doubt.
	Grace                    // A creation succeeded so recently that "not found" may be wrong.
	Unconfirmed              // Nothing of ours was found, and that is not believed yet.
)

// An Ownership says whose an external resource is.
type Ownership int

// The ownerships.
const (
	Ours    Ownership = iota // It is ours, or a policy says that we may have it.
	Foreign                  // It is not ours, and no policy says that we may have it.
)

// Permissions are what the policies of the object and of its provider allow.
type Permissions struct {
	Create, Update, Delete bool
}

// An Action is what a pass does next.
type Action int

// The actions. Observe, Claim, Publish, Create, Update and Delete go on: they
// add to what is known and decide again. All others end the pass.
const (
	none Action = iota

	Pause            // Say that the object is paused.
	Reject           // Say which policy is not understood.
	Ignore           // Nothing of ours is left to do.
	Orphan           // Let the object go and leave the resource, as the policy says.
	Observe          // Connect if need be, and look at the external resource.
	ConfirmListed    // What a list shows is all that an observation would: take it for one.
	ObserveAlone     // A list shows what an observation has to confirm.
	Abandon          // Let the object go and leave the resource, which is not ours.
	AwaitFinalizers  // Others are to be done with the object first.
	AwaitGone        // A delete was sent; wait until the resource is gone.
	Delete           // Ask for the end of the external resource.
	Refuse           // Nobody can tell whether a create had an effect: stop.
	RemoveFinalizer  // The resource is gone: let the object go.
	ReportNotOwned   // Leave what belongs to somebody else alone, and say so.
	PersistOwnership // Store finalizer, external name and whatever Observe learned.
	Publish          // Store what one needs to connect to the resource.
	Keep             // All is well.
	AwaitEffect      // The change was made and does not show yet.
	Tolerate         // It differs, and the policy forbids to change it.
	Update           // Make the external resource as desired.
	AwaitExistence   // The creation was made and does not show yet.
	ReportMissing    // It does not exist, and a policy forbids to create it.
	RestoreRecord    // Put back the record of the last creation, with its external name.
	Create           // Create the external resource.

	end // Not an action.
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{
		"none", "Pause", "Reject", "Ignore", "Orphan", "Observe", "ConfirmListed", "ObserveAlone", "Abandon",
		"AwaitFinalizers",
		"AwaitGone", "Delete", "Refuse", "RemoveFinalizer", "ReportNotOwned", "PersistOwnership", "Publish", "Keep",
		"AwaitEffect",
		"Tolerate", "Update", "AwaitExistence", "ReportMissing", "RestoreRecord", "Create",
	}
	if a < 0 || int(a) >= len(names) {
		return "none"
	}

	return names[a]
}

// Actions returns every action there is.
func Actions() []Action {
	all := make([]Action, 0, end-1)
	for a := Pause; a < end; a++ {
		all = append(all, a)
	}

	return all
}

// Mutates says whether the action changes something outside.
func (a Action) Mutates() bool { return a == Create || a == Update || a == Delete }

// Ends says whether the pass is over after the action.
func (a Action) Ends() bool {
	return a != Observe && a != ConfirmListed && a != PersistOwnership && a != Publish && !a.Mutates()
}

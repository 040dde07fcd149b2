// Package lifecycle decides how a managed resource is reconciled. Admit decides whether an object is reconciled,
// Decide chooses the next action of a pass, and Conclude decides how the pass ends. Smaller decisions have their own
// files.
//
// All decisions are pure functions of facts, which are plain values. The order of the cases matters. The package
// imports nothing, so that tests can try every combination of facts in seconds. The tests also delete each case, and
// exchange each two cases. The page docs/lifecycle.md shows the cases with their comments.
package lifecycle

// Decide returns the next action. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	// The external resource has to be observed first, and again after each change.
	case f.Presence == Unobserved || f.Presence == ListIncomplete || f.Presence == Listed:
		return observing(f)
	// The object is being deleted.
	case f.Object == Deleted:
		return deleting(f)
	// The object is not being deleted.
	default:
		return wanted(f)
	}
}

// observing decides where there is no observation yet, or only what a list of the connection shows.
func observing(f Facts) Action {
	switch {
	// Observe is called, unless a list that other objects share can be used.
	case f.Presence == Unobserved:
		return Observe
	// The list is not complete yet: the pass ends, so that no worker waits for it.
	case f.Presence != Listed:
		return AwaitList
	// The list shows that nothing is to be done: that is used as the observation.
	case f.Object != Deleted && existing(f) == Keep:
		return ConfirmListed
	// The list shows something else, which is not trusted: the next pass observes the object alone.
	default:
		return ObserveAlone
	}
}

// deleting decides for an object that is being deleted.
func deleting(f Facts) Action {
	switch {
	// The external resource exists.
	case f.Presence == Present:
		return removing(f)
	// A replace of the object removed the record of the last creation: it is restored, because a resource may
	// exist under the external name in it.
	case f.Attempt == Replaced && f.Doubt != Unconfirmed:
		return RestoreRecord
	// The external resource was not found.
	default:
		return removed(f)
	}
}

// removing decides for an object that is being deleted and whose external resource exists.
func removing(f Facts) Action {
	switch {
	// The resource found is not marked as ours, but an earlier create may have created it, or another resource:
	// a user has to resolve that.
	case f.Ownership == Foreign && (f.Attempt == Unknown && f.Class != Named || f.Attempt == Superseded):
		return AskUser
	// The resource found is not ours, but that ours does not exist has to be confirmed by another observation.
	case f.Ownership == Foreign && f.Doubt == Unconfirmed:
		return AwaitGone
	// The resource found is not ours: it stays, and the finalizer is removed.
	case f.Ownership == Foreign:
		return Abandon
	// The resource is the result of a create whose response was lost: its external name is stored before it is
	// deleted.
	case f.Metadata == SettlesCreate:
		return PersistOwnership
	// The resource is deleted only after the other finalizers of the object are removed.
	case f.ForeignFinalizers:
		return AwaitFinalizers
	// This pass has made its one change, or a delete was sent recently: the pass ends until the resource is gone.
	case f.Change != NoChange:
		return AwaitGone
	// The resource exists, and nothing has to happen before it is deleted.
	default:
		return Delete
	}
}

// removed decides for an object that is being deleted and whose external resource was not found.
func removed(f Facts) Action {
	switch {
	// The resource may exist although it was not found, and its deletion waits until the other finalizers of
	// the object are removed.
	case f.mayAppear() && f.ForeignFinalizers:
		return AwaitFinalizers
	// The resource may exist although it was not found, and its external name is known: Delete is called.
	case f.mayAppear() && f.NameKnown && f.Change == NoChange:
		return Delete
	// The resource may still exist: its absence has to be confirmed before the finalizer is removed.
	case f.awaitsAbsence():
		return AwaitGone
	// The resource may exist under an unknown external name: another create with the same token returns that
	// name, so that it can be deleted.
	case f.nameUnknown() && f.Class == Token && f.MayCreate && f.Change != Mutated:
		return Create
	// The resource may exist under another or an unknown external name, and would leak without the finalizer: a
	// user has to resolve that.
	case f.nameUnknown() && f.Class != Named || f.Attempt == Superseded:
		return AskUser
	// The resource does not exist: the finalizer is removed.
	default:
		return RemoveFinalizer
	}
}

// wanted decides for an object that is not being deleted.
func wanted(f Facts) Action {
	switch {
	// The external resource exists.
	case f.Presence == Present:
		return existing(f)
	// The external resource was not found.
	default:
		return missing(f)
	}
}

// existing decides for an object that is not being deleted and whose external resource exists.
func existing(f Facts) Action {
	switch {
	// The resource is not ours, and no policy allows its adoption: it is left unchanged.
	case f.Ownership == Foreign:
		return ReportNotOwned
	// The finalizer, the external name and the other metadata that Observe found are stored before the resource
	// is changed.
	case f.Object == NoFinalizer || f.Metadata != Stored:
		return PersistOwnership
	// The connection details are published before the resource is changed.
	case f.Unpublished:
		return Publish
	// The resource is as desired: nothing is changed.
	case f.UpToDate:
		return Keep
	// This pass has made its one change, which is not visible yet.
	case f.Change == Mutated:
		return AwaitEffect
	// The resource is not as desired, and the policies do not allow Update: it is left unchanged.
	case !f.MayUpdate:
		return Tolerate
	// The resource is not as desired.
	default:
		return Update
	}
}

// missing decides for an object that is not being deleted and whose external resource was not found.
func missing(f Facts) Action {
	switch {
	// The absence of the resource is not certain yet: it has to be confirmed, so that no second resource is
	// created.
	case f.Doubt != NoDoubt || f.Change == Mutated:
		return AwaitExistence
	// An earlier create may have succeeded, and another one could lead to a second resource: a user has to
	// resolve that.
	case f.resultUnobserved() && !f.repeatable() || f.Attempt == Superseded:
		return AskUser
	// The resource does not exist, and the policies do not allow Create.
	case !f.MayCreate:
		return ReportMissing
	// A replace of the object removed the record of the last creation: it is restored before anything is
	// created under another external name.
	case f.Attempt == Replaced:
		return RestoreRecord
	// The resource does not exist, and it is safe to create it.
	default:
		return Create
	}
}

// Package lifecycle is for deciding what to do next with a managed resource.
// It is the whole life of one on one screen: Decide takes what is known, as
// plain values, and answers with one action. The order of the cases is the
// product. The package imports nothing, so that every deletion of a case and
// every swap of two neighbours can be tried against its tests in seconds.
package lifecycle

// Decide what to do next. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	case f.Paused:
		return Pause
	case f.Deleted && !f.HasFinalizer:
		return Ignore
	case f.Invalid:
		return Reject
	case f.Deleted && !f.May.Delete:
		return Orphan
	case f.Presence == Unobserved || f.Presence == Listed:
		return observing(f)
	case f.Deleted:
		return deleting(f)
	default:
		return wanted(f)
	}
}

// observing: nothing was observed yet. What a list shows is believed if there is nothing to do.
func observing(f Facts) Action {
	switch {
	case f.Presence == Unobserved:
		return Observe
	case !f.Deleted && existing(f) == Keep:
		return ConfirmListed
	default:
		return ObserveAlone
	}
}

// deleting: the object is deleted, holds our finalizer, and the external resource
// is to go with it.
func deleting(f Facts) Action {
	switch {
	case f.Presence == Present:
		return removing(f)
	case f.Attempt == Replaced && f.Doubt != Unconfirmed:
		return RestoreRecord
	default:
		return removed(f)
	}
}

// wanted: the object is wanted, and the external resource with it.
func wanted(f Facts) Action {
	switch {
	case f.Presence == Present:
		return existing(f)
	default:
		return missing(f)
	}
}

// removing: the object is deleted, and the external resource exists.
func removing(f Facts) Action {
	switch {
	case f.Ownership == Foreign && (f.Attempt == Unknown && f.Class != Named || f.Attempt == Superseded):
		return Refuse
	case f.Ownership == Foreign && f.Doubt == Unconfirmed:
		return AwaitGone
	case f.Ownership == Foreign:
		return Abandon
	case f.SettlesCreate:
		return PersistOwnership
	case f.ForeignFinalizers:
		return AwaitFinalizers
	case f.deleteMade():
		return AwaitGone
	default:
		return Delete
	}
}

// removed: the object is deleted, and no external resource was found.
func removed(f Facts) Action {
	switch {
	case f.mayAppear() && f.ForeignFinalizers:
		return AwaitFinalizers
	case f.mayAppear() && f.NameKnown && !f.deleteMade():
		return Delete
	case f.awaitsAbsence():
		return AwaitGone
	case f.lost() && f.Class == Token && f.May.Create && !f.Mutated:
		return Create
	case f.lost() && f.Class != Named || f.Attempt == Superseded:
		return Refuse
	default:
		return RemoveFinalizer
	}
}

// existing: the object is wanted, and the external resource exists.
func existing(f Facts) Action {
	switch {
	case f.Ownership == Foreign:
		return ReportNotOwned
	case !f.HasFinalizer || f.Dirty:
		return PersistOwnership
	case f.Unpublished:
		return Publish
	case f.UpToDate:
		return Keep
	case f.Mutated:
		return AwaitEffect
	case !f.May.Update:
		return Tolerate
	default:
		return Update
	}
}

// missing: the object is wanted, and no external resource was found.
func missing(f Facts) Action {
	switch {
	case f.Doubt != NoDoubt || f.Mutated:
		return AwaitExistence
	case f.unobserved() && !f.repeatable() || f.Attempt == Superseded:
		return Refuse
	case !f.May.Create:
		return ReportMissing
	case f.Attempt == Replaced:
		return RestoreRecord
	default:
		return Create
	}
}

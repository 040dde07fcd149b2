// Package lifecycle decides what a pass of a syncer does next. Decide is a pure function
// from facts, which are plain values, to one action; it covers the whole lifecycle of a
// virtual object and its host object. The order of the cases matters. The package
// imports nothing, so tests can try every combination of facts and every exchange of two
// cases in seconds.
package lifecycle

// Decide returns the next action. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	case f.Stale:
		return AwaitCache
	case !f.VirtualExists:
		return decideVirtualGone(f)
	case f.VirtualDeleting:
		return decideVirtualDeleting(f)
	default:
		return decideVirtualWanted(f)
	}
}

// decideVirtualGone decides if there is no virtual object.
func decideVirtualGone(f Facts) Action {
	switch {
	case !f.HostExists:
		return Nothing
	case f.WantsSyncUp:
		return SyncUp
	case f.Foreign:
		return Nothing
	case f.HostDeleting:
		return AwaitHostDeletion
	case !f.Confirmed:
		return Confirm
	default:
		return DeleteHost
	}
}

// decideVirtualDeleting decides if the virtual object is being deleted.
func decideVirtualDeleting(f Facts) Action {
	switch {
	case f.HasFinalizer && (!f.DeleteHostFirst || !f.HostExists || f.Foreign):
		return RemoveFinalizer
	case f.RecreateDeleting && !f.HostExists:
		return SyncDown
	case !f.HostExists || f.Foreign:
		return Nothing
	case !f.HasFinalizer && !f.UIDMismatch:
		return Sync
	case f.HostDeleting:
		return AwaitHostDeletion
	case !f.Confirmed:
		return Confirm
	default:
		return DeleteHost
	}
}

// decideVirtualWanted decides if the virtual object exists and is not being deleted.
func decideVirtualWanted(f Facts) Action {
	switch {
	case f.HostExists && f.Foreign && f.IgnoreConflicts:
		return IgnoreConflict
	case f.HostExists && f.Foreign:
		return ReportConflict
	case f.HasFinalizer && !f.DeleteHostFirst:
		return RemoveFinalizer
	case f.HostExists && f.UIDMismatch && f.HostDeleting:
		return AwaitHostDeletion
	case f.HostExists && f.UIDMismatch && !f.Confirmed:
		return Confirm
	case f.HostExists && f.UIDMismatch:
		return DeleteHost
	case f.DeleteHostFirst && !f.HasFinalizer:
		return AddFinalizer
	case f.HostExists:
		return Sync
	default:
		return SyncDown
	}
}

// Package lifecycle decides what a pass of a syncer does next. Decide is a pure function
// from facts, which are plain values, to one action; it covers the whole lifecycle of a
// virtual object and its host object. The order of the cases matters. The package
// imports nothing, so tests can try every combination of facts and every exchange of two
// cases in seconds.
package lifecycle

// Decide returns the next action. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	// A decision from stale caches could repeat or revert a write of this process.
	case f.Stale:
		return AwaitCache
	// The virtual object does not exist.
	case !f.VirtualExists:
		return decideVirtualGone(f)
	// The virtual object is being deleted.
	case f.VirtualDeleted:
		return decideVirtualDeleted(f)
	// The virtual object exists and is not being deleted.
	default:
		return decideVirtualWanted(f)
	}
}

// decideVirtualGone decides if there is no virtual object.
func decideVirtualGone(f Facts) Action {
	switch {
	// Neither object exists.
	case !f.HostExists:
		return Nothing
	// The syncer handles host objects without a virtual object itself.
	case f.WantsSyncUp:
		return SyncUp
	// The host object is not an image of this syncer: it is left unchanged.
	case f.Foreign:
		return Nothing
	// The image is being deleted already.
	case f.HostDeleted:
		return AwaitHostDeletion
	// A cache is no proof: a live read has to confirm that the virtual object is gone before its image is
	// deleted.
	case !f.Confirmed:
		return Confirm
	// The virtual object is gone, so its image is deleted.
	default:
		return DeleteHost
	}
}

// decideVirtualDeleted decides if the virtual object is being deleted.
func decideVirtualDeleted(f Facts) Action {
	switch {
	// The finalizer is removed if the host object need not be deleted first, is gone, or is foreign.
	case f.HasFinalizer && (!f.DeleteHostFirst || !f.HostExists || f.Foreign):
		return RemoveFinalizer
	// For compatibility, the virtual object gets a host object again although it is being deleted.
	case f.RecreateDeleted && !f.HostExists:
		return SyncDown
	// There is no host object, or it is foreign: nothing is left to do.
	case !f.HostExists || f.Foreign:
		return Nothing
	// Without our finalizer, the image is synced until the virtual object is gone.
	case !f.HasFinalizer && !f.UIDMismatch:
		return Sync
	// The image is being deleted already.
	case f.HostDeleted:
		return AwaitHostDeletion
	// A cache is no proof: a live read has to confirm that the virtual object is being deleted before its image
	// is deleted.
	case !f.Confirmed:
		return Confirm
	// The image is deleted before the virtual object, or because it is the image of a former object with this
	// name.
	default:
		return DeleteHost
	}
}

// decideVirtualWanted decides if the virtual object exists and is not being deleted.
func decideVirtualWanted(f Facts) Action {
	switch {
	// The host object is foreign, and the syncer does not report conflicts.
	case f.HostExists && f.Foreign && f.IgnoreConflicts:
		return IgnoreConflict
	// The host object is foreign: it is left unchanged, and the conflict is reported.
	case f.HostExists && f.Foreign:
		return ReportConflict
	// The finalizer is left from an option that is not set any more.
	case f.HasFinalizer && !f.DeleteHostFirst:
		return RemoveFinalizer
	// The image of a former object with this name is being deleted already.
	case f.HostExists && f.UIDMismatch && f.HostDeleted:
		return AwaitHostDeletion
	// A cache is no proof: a live read has to confirm that the virtual object is another one before the image
	// of the former is deleted.
	case f.HostExists && f.UIDMismatch && !f.Confirmed:
		return Confirm
	// The image of a former object with this name is deleted, so that a new one can be created.
	case f.HostExists && f.UIDMismatch:
		return DeleteHost
	// The finalizer is added before there is a host object, so that it can be deleted first.
	case f.DeleteHostFirst && !f.HasFinalizer:
		return AddFinalizer
	// Both objects exist and belong together.
	case f.HostExists:
		return Sync
	// There is no host object.
	default:
		return SyncDown
	}
}

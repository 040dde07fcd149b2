// Package lifecycle decides what a pass of a service provider does next. Decide is a pure
// function from facts, which are plain values, to one action; it covers the whole
// lifecycle of a service object. The order of the cases matters. The package imports
// nothing, so tests can try every combination of facts and every exchange of two cases in
// seconds.
package lifecycle

// Decide returns the next action. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	case !f.Exists:
		return Nothing
	case f.Paused && !(f.Deleting && f.DeleteWhenPaused):
		return ReportPaused
	case f.Deleting:
		return decideDeleting(f)
	default:
		return decideWanted(f)
	}
}

// decideWanted decides if the object exists and is not being deleted.
func decideWanted(f Facts) Action {
	switch {
	case !f.ConfigRead:
		return ReadConfig
	case f.ConfigUnknown:
		return AwaitConfig
	case !f.ConfigFound:
		return ReportConfigMissing
	case !f.HasFinalizer:
		return AddFinalizer
	case !f.Defaulted:
		return Default
	case !f.AccessRequested:
		return RequestAccess
	case f.Denied:
		return ReportAccessDenied
	case !f.Granted:
		return AwaitAccess
	default:
		return CreateOrUpdate
	}
}

// decideDeleting decides if the object is being deleted.
func decideDeleting(f Facts) Action {
	switch {
	case !f.HasFinalizer:
		return Nothing
	case f.AccessReleased:
		return RemoveFinalizer
	case f.ServiceDeleted:
		return ReleaseAccess
	case f.Requests == RequestsUnchecked:
		return CheckRequests
	case f.nothingToDelete():
		return ReleaseAccess
	case !f.ConfigRead:
		return ReadConfig
	case f.ConfigUnknown:
		return AwaitConfig
	case !f.ConfigFound && f.OrphanWithoutConfig:
		return ReleaseAccess
	case !f.ConfigFound && !f.DeleteWithoutConfig:
		return ReportDeletionBlocked
	default:
		return decideCleanup(f)
	}
}

// decideCleanup decides if the domain still has to delete the service, which needs access to
// the clusters.
func decideCleanup(f Facts) Action {
	switch {
	case !f.AccessRequested:
		return RequestAccess
	case f.ClusterGone && f.OrphanOnClusterGone:
		return ReleaseAccess
	case f.ClusterGone, f.NotOwned:
		return ReportDeletionBlocked
	case f.Denied:
		return ReportAccessDenied
	case !f.Granted:
		return AwaitAccess
	default:
		return DeleteService
	}
}

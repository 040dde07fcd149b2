// Package lifecycle decides what a pass of a service provider does next. Decide is a pure function that maps facts,
// which are plain values, to one action. It covers the whole lifecycle of a service object. The order of its cases
// matters. The package imports nothing, so tests can check all combinations of facts, and all swaps of two cases,
// within seconds.
package lifecycle

// Decide returns the next action. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	// The object does not exist any more.
	case !f.Exists:
		return Nothing
	// The object is paused, and the pause applies to its deletion, too, unless an option excludes that.
	case f.Paused && !(f.Deleted && f.DeleteWhenPaused):
		return ReportPaused
	// The object is being deleted.
	case f.Deleted:
		return decideDeleted(f)
	// The object exists and is not being deleted.
	default:
		return decideWanted(f)
	}
}

// decideWanted decides if the object exists and is not being deleted.
func decideWanted(f Facts) Action {
	switch {
	// The configuration has to be read before anything else.
	case !f.ConfigRead:
		return ReadConfig
	// Whether there is a configuration is not known now, so nothing is changed.
	case f.ConfigUnknown:
		return AwaitConfig
	// Without a configuration, the domain cannot be called.
	case !f.ConfigFound:
		return ReportConfigMissing
	// The finalizer is added before anything is requested or created, so that nothing leaks.
	case !f.HasFinalizer:
		return AddFinalizer
	// The defaults are applied before the domain gets the object.
	case !f.Defaulted:
		return Default
	// The domain needs access to the clusters.
	case !f.AccessRequested:
		return RequestAccess
	// The platform has denied the access: the condition says so.
	case f.Denied:
		return ReportAccessDenied
	// The access is requested, and not granted yet.
	case !f.Granted:
		return AwaitAccess
	// All clusters are connected: the domain is called.
	default:
		return CreateOrUpdate
	}
}

// decideDeleted decides if the object is being deleted.
func decideDeleted(f Facts) Action {
	switch {
	// The object does not have our finalizer: nothing is left to do.
	case !f.HasFinalizer:
		return Nothing
	// Nothing is left in the clusters, and the access is released.
	case f.AccessReleased:
		return RemoveFinalizer
	// Delete of the domain has finished, so the access is not needed any more.
	case f.ServiceDeleted:
		return ReleaseAccess
	// The AccessRequests show whether Delete is needed.
	case f.Requests == RequestsUnchecked:
		return CheckRequests
	// Nothing was created in the clusters, or a previous runtime has deleted it.
	case f.nothingToDelete():
		return ReleaseAccess
	// Delete of the domain needs the configuration.
	case !f.ConfigRead:
		return ReadConfig
	// Whether there is a configuration is not known now, so nothing is changed.
	case f.ConfigUnknown:
		return AwaitConfig
	// There is no configuration, and an option abandons what was created.
	case !f.ConfigFound && f.OrphanWithoutConfig:
		return ReleaseAccess
	// There is no configuration, and no option allows to call Delete without one.
	case !f.ConfigFound && !f.DeleteWithoutConfig:
		return ReportDeletionBlocked
	// Delete of the domain is needed and has its configuration.
	default:
		return decideCleanup(f)
	}
}

// decideCleanup decides if the domain still has to delete the service, which needs access to
// the clusters.
func decideCleanup(f Facts) Action {
	switch {
	// Delete of the domain needs access to the clusters.
	case !f.AccessRequested:
		return RequestAccess
	// A cluster does not exist any more, and an option abandons what was in it.
	case f.ClusterGone && f.OrphanOnClusterGone:
		return ReleaseAccess
	// The access cannot be had: a cluster does not exist any more, or a request with the same name has another
	// owner.
	case f.ClusterGone, f.NotOwned:
		return ReportDeletionBlocked
	// The platform has denied the access: the condition says so.
	case f.Denied:
		return ReportAccessDenied
	// The access is requested, and not granted yet.
	case !f.Granted:
		return AwaitAccess
	// All clusters are connected: Delete of the domain is called.
	default:
		return DeleteService
	}
}

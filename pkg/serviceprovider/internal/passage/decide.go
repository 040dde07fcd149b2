// Package passage is for deciding what a pass of a service provider does next. It is
// the whole life of a service object on one screen: Decide takes what is known, as
// plain values, and answers with one action. The order of the cases is the product. The
// package imports nothing, so that every combination of facts and every change of a
// case can be tried in seconds.
package passage

// Decide what to do next. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	case !f.Found:
		return Rest
	case f.Paused && !(f.Leaving && f.DeletePaused):
		return Pause
	case f.Leaving:
		return leaving(f)
	default:
		return living(f)
	}
}

// Living: the service is wanted.
func living(f Facts) Action {
	switch {
	case !f.ConfigAsked:
		return Configure
	case f.ConfigUnknown:
		return AwaitConfig
	case !f.ConfigFound:
		return NeedConfig
	case !f.Held:
		return Hold
	case !f.Defaulted:
		return Default
	case !f.AccessAsked:
		return Access
	case f.Denied:
		return Deny
	case !f.Granted:
		return AwaitAccess
	default:
		return Work
	}
}

// Leaving: the service is to go.
func leaving(f Facts) Action {
	switch {
	case !f.Held:
		return Rest
	case f.Withdrawn:
		return Release
	case f.Cleaned:
		return Withdraw
	case f.Request == Unchecked:
		return Check
	case f.Request == Missing && !f.Made:
		return Withdraw // nothing is in the clusters
	case f.Request == Leaving && !f.Record:
		return Withdraw // the runtime before gives access back: ours stores first that it does
	case !f.ConfigAsked:
		return Configure
	case f.ConfigUnknown:
		return AwaitConfig
	case !f.ConfigFound && f.NoConfigOrphan:
		return Withdraw
	case !f.ConfigFound && !f.NoConfigDelete:
		return Block
	default:
		return cleaning(f)
	}
}

// Cleaning: what the domain has made is to go first, and that takes access.
func cleaning(f Facts) Action {
	switch {
	case !f.AccessAsked:
		return Access
	case f.ClusterGone && f.OrphanGone:
		return Withdraw
	case f.ClusterGone, f.NotOwned:
		return Block
	case f.Denied:
		return Deny
	case !f.Granted:
		return AwaitAccess
	default:
		return Clean
	}
}

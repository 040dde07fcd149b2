// Package dispatch is for deciding what a pass of a syncer does next. It is the
// whole life of a pair of objects on one screen: Decide takes what is known, as
// plain values, and answers with one action. The order of the cases is the product.
// The package imports nothing, so that every combination of facts and every change
// of a case can be tried in seconds.
package dispatch

// Decide what to do next. The first case that applies wins.
func Decide(f Facts) Action {
	switch {
	case f.Stale:
		return AwaitSelf
	case !f.Here:
		return departed(f)
	case f.Leaving:
		return leaving(f)
	default:
		return living(f)
	}
}

// Departed: there is no virtual object.
func departed(f Facts) Action {
	switch {
	case !f.There:
		return Rest
	case f.Up:
		return Up
	case f.Foreign:
		return Rest
	case f.LeavingThere:
		return AwaitHost
	case !f.Confirmed:
		return Confirm
	default:
		return Delete
	}
}

// Leaving: the virtual object is being deleted.
func leaving(f Facts) Action {
	switch {
	case f.Held && (!f.HostFirst || !f.There || f.Foreign):
		return Release
	case f.Revive && !f.There:
		return Down
	case !f.There || f.Foreign:
		return Rest
	case !f.Held && !f.Former:
		return Sync
	case f.LeavingThere:
		return AwaitHost
	case !f.Confirmed:
		return Confirm
	default:
		return Delete
	}
}

// Living: the virtual object is wanted.
func living(f Facts) Action {
	switch {
	case f.There && f.Foreign && f.Silent:
		return Overlook
	case f.There && f.Foreign:
		return Refuse
	case f.Held && !f.HostFirst:
		return Release
	case f.There && f.Former && f.LeavingThere:
		return AwaitHost
	case f.There && f.Former && !f.Confirmed:
		return Confirm
	case f.There && f.Former:
		return Delete
	case f.HostFirst && !f.Held:
		return Hold
	case f.There:
		return Sync
	default:
		return Down
	}
}

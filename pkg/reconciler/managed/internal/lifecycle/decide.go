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
	case f.Deleted && !f.Held:
		return Rest
	case f.Invalid:
		return Reject
	case f.Deleted && !f.May.Delete:
		return Orphan
	case !f.Observed:
		return Observe
	case f.Deleted:
		return depart(f)
	default:
		return live(f)
	}
}

// Depart: the object is deleted, holds our finalizer, and the external
// resource is to go with it.
func depart(f Facts) Action {
	switch {
	case f.Exists && f.Stranger && f.Unresolved && f.Class != Named:
		return Refuse
	case f.Exists && f.Stranger:
		return Release
	case f.Exists && f.Resolves:
		return Claim
	case f.Awaited && (f.Exists || f.Settling || f.Unseen):
		return AwaitFinalizers
	case (f.DeleteSent || f.Acted) && (f.Exists || f.Settling && f.Unseen):
		return AwaitGone
	case f.Exists || (f.Settling || f.Unseen) && f.NameKnown && !f.DeleteSent && !f.Acted:
		return Delete
	case f.Settling && f.Unseen || f.Searching:
		return AwaitGone
	case f.Unresolved && f.Class == Token && f.May.Create && !f.Acted:
		return Create
	case f.Unresolved && f.Class != Named:
		return Refuse
	default:
		return Finalize
	}
}

// Live: the object is wanted. What exists comes first, then what does not.
func live(f Facts) Action {
	switch {
	case f.Exists && f.Stranger:
		return Disown
	case f.Exists && (!f.Held || f.Learned):
		return Claim
	case f.Exists && f.Unpublished:
		return Publish
	case f.Exists && f.UpToDate:
		return Keep
	case f.Exists && f.Acted:
		return AwaitEffect
	case f.Exists && !f.May.Update:
		return Tolerate
	case f.Exists:
		return Update
	case f.Settling || f.Acted || f.Searching:
		return AwaitExistence
	case (f.Unresolved || f.Unseen) && f.Class != Named && f.Class != Token:
		return Refuse
	case !f.May.Create:
		return ReportMissing
	default:
		return Create
	}
}

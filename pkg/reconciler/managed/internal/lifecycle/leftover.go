package lifecycle

// A Leftover says whether the external resource stays behind if the object is removed now, before a pass has removed
// the finalizer.
type Leftover int

// The leftovers.
const (
	Unchanged   Leftover = iota // The last pass has observed nothing.
	MayRemain                   // It may be left over, although it should be deleted with the object.
	NoneRemains                 // There is none of ours, or the policy says that it stays.
)

// LeftoverOf derives the Leftover from the last facts of a pass. The field MayDelete of the argument admitted has to be
// set also for an object that is not being deleted.
func LeftoverOf(admitted AdmitFacts, f Facts) Leftover {
	switch {
	case admitted.Invalid:
		return Unchanged
	case !admitted.MayDelete:
		return NoneRemains
	case admitted.Paused || f.Presence == Unobserved || f.Presence == ListIncomplete || f.Presence == Listed:
		return Unchanged
	default:
		return f.leftover()
	}
}

// leftover decides for a resource that was observed, and that the policies delete with the object.
func (f Facts) leftover() Leftover {
	switch {
	case f.Presence == Present && f.Ownership == Ours,
		f.Presence == Absent && (f.Attempt != Settled || f.Doubt != NoDoubt):
		return MayRemain
	default:
		return NoneRemains
	}
}

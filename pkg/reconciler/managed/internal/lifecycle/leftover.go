package lifecycle

// A Leftover says whether the external resource is left over if the object is removed now, although no pass has removed
// its finalizer.
type Leftover int

// The leftovers.
const (
	Unchanged   Leftover = iota // The last pass has observed nothing.
	MayRemain                   // It may be left over, although it should be deleted with the object.
	NoneRemains                 // There is none, or the policy says that it stays.
)

// Leftover returns what follows from the last facts of a pass.
func (f Facts) Leftover() Leftover {
	switch {
	case f.Invalid:
		return Unchanged
	case !f.May.Delete:
		return NoneRemains
	default:
		return mayLeave(f)
	}
}

// mayLeave decides if the policies say that the resource is deleted with the object.
func mayLeave(f Facts) Leftover {
	switch {
	case f.Paused || f.Presence == Unobserved || f.Presence == Listed:
		return Unchanged
	default:
		return leaves(f)
	}
}

// leaves decides if the resource was observed.
func leaves(f Facts) Leftover {
	switch {
	case f.Presence == Present && f.Ownership == Ours,
		f.Presence == Absent && (f.Attempt != Settled || f.Doubt != NoDoubt):
		return MayRemain
	default:
		return NoneRemains
	}
}

package lifecycle

// A Bond says what becomes of the external resource if the object goes now, and no pass
// has let it go: somebody took its finalizer.
type Bond int

// The bonds.
const (
	Unchanged Bond = iota // Nothing was learned.
	Bound                 // It may be left over, although it was to go with the object.
	Free                  // There is none, or it is to stay.
)

// Bond returns what the last facts of a pass tell.
func (f Facts) Bond() Bond {
	switch {
	case f.Invalid:
		return Unchanged
	case !f.May.Delete:
		return Free
	default:
		return mayLeave(f)
	}
}

// mayLeave: the policies say that the resource goes with the object.
func mayLeave(f Facts) Bond {
	switch {
	case f.Paused || f.Presence == Unobserved:
		return Unchanged
	default:
		return leaves(f)
	}
}

// leaves: somebody has looked for the resource.
func leaves(f Facts) Bond {
	switch {
	case f.Presence == Present && f.Ownership == Ours, f.Presence == Absent && (f.Attempt != Settled || f.Doubt != NoDoubt):
		return Bound
	default:
		return Free
	}
}

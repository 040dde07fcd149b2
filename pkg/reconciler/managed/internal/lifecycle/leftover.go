package lifecycle

// A Leftover says what becomes of the external resource if the object goes now, and no pass
// has let it go: somebody took its finalizer.
type Leftover int

// The bonds.
const (
	Unchanged   Leftover = iota // Nothing was learned.
	MayRemain                   // It may be left over, although it was to go with the object.
	NoneRemains                 // There is none, or it is to stay.
)

// Leftover returns what the last facts of a pass tell.
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

// mayLeave: the policies say that the resource goes with the object.
func mayLeave(f Facts) Leftover {
	switch {
	case f.Paused || f.Presence == Unobserved || f.Presence == Listed:
		return Unchanged
	default:
		return leaves(f)
	}
}

// leaves: somebody has looked for the resource.
func leaves(f Facts) Leftover {
	switch {
	case f.Presence == Present && f.Ownership == Ours,
		f.Presence == Absent && (f.Attempt != Settled || f.Doubt != NoDoubt):
		return MayRemain
	default:
		return NoneRemains
	}
}

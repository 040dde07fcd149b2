package lifecycle

// An Owner says whose an external resource is, see managed.Owner.
type Owner int

// The owners, in the order of managed.Owner.
const (
	OwnerUnknown Owner = iota
	OwnerOurs
	OwnerNobody
	OwnerOther
)

// An Adoption says what may be taken over that was not created here.
type Adoption int

// The adoption policies.
const (
	AdoptUnsaid   Adoption = iota // Nobody's stays; what cannot tell its owner is ours by its name.
	AdoptNever                    // Nothing.
	AdoptUnowned                  // What belongs to nobody, or cannot tell.
	AdoptMatching                 // The same, if it is as desired already.
	AdoptForce                    // Everything.
)

// Stranger says whether something that exists is not ours to change. Claimed
// means that the object carries the mark of a creation or adoption; matches,
// that the resource is as desired.
func Stranger(o Owner, claimed bool, policy Adoption, matches bool) bool {
	switch {
	case o == OwnerOurs:
		return false
	case o != OwnerUnknown && o != OwnerNobody:
		return o != OwnerOther || policy != AdoptForce
	case claimed || policy == AdoptUnowned || policy == AdoptForce:
		return false
	case policy == AdoptMatching:
		return !matches
	default:
		return o == OwnerNobody || policy == AdoptNever
	}
}

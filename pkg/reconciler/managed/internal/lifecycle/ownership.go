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
	AdoptDefault  Adoption = iota // Nobody's stays; what cannot tell its owner is ours by its name.
	AdoptNever                    // Nothing.
	AdoptUnowned                  // What belongs to nobody, or cannot tell.
	AdoptMatching                 // The same, if it is as desired already.
	AdoptForce                    // Everything.
)

// NotOwned says whether something that exists is not ours to change. Claimed
// means that the object carries the mark of a creation or adoption; matches,
// that the resource is as desired.
func NotOwned(o Owner, claimed bool, policy Adoption, matches bool) bool {
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

// Adoptions are the adoption policies that whoever runs the provider allows.
type Adoptions struct {
	Default Adoption          // What an object that does not say gets.
	Listed  map[Adoption]bool // What an object may say. Nil: everything, by force only what is near.
}

// Allowed returns what is allowed of a policy that is asked for, for what belongs to
// the owner. Near means that this is an object of the same namespace.
func (a Adoptions) Allowed(asked Adoption, o Owner, near bool) Adoption {
	switch {
	case asked == AdoptDefault || asked == AdoptNever || a.Listed[asked]:
		return asked
	case a.Listed != nil && asked != a.Default, asked == AdoptForce && o == OwnerOther && !near:
		return AdoptNever
	default:
		return asked
	}
}

package lifecycle

// An Owner is the owner of an external resource, see managed.Owner.
type Owner int

// The owners, in the order of managed.Owner.
const (
	OwnerUnknown Owner = iota
	OwnerOurs
	OwnerNone
	OwnerOther
)

// An Adoption is a policy for external resources that were not created for the object.
type Adoption int

// The adoption policies.
const (
	AdoptDefault  Adoption = iota // An unowned resource stays; one whose owner cannot be determined is ours by its name.
	AdoptNever                    // Nothing.
	AdoptUnowned                  // A resource without an owner, or whose owner cannot be determined.
	AdoptMatching                 // The same, if it is as desired already.
	AdoptForce                    // Everything.
)

// NotOwned reports whether an existing resource must not be changed, because it is not ours. The argument claimed is
// true if the object has the record of a creation or adoption. The argument matches is true if the resource is as
// desired.
func NotOwned(o Owner, claimed bool, policy Adoption, matches bool) bool {
	switch {
	case o == OwnerOurs:
		return false
	case o != OwnerUnknown && o != OwnerNone:
		return o != OwnerOther || policy != AdoptForce
	case claimed || policy == AdoptUnowned || policy == AdoptForce:
		return false
	case policy == AdoptMatching:
		return !matches
	default:
		return o == OwnerNone || policy == AdoptNever
	}
}

// Adoptions are the adoption policies that the operator of the provider allows.
type Adoptions struct {
	Default Adoption          // The policy of an object without the annotation.
	Listed  map[Adoption]bool // The policies that an object may name. Nil: all, but force only within the namespace.
}

// Allowed returns the adoption policy that applies to an external resource when an object requests the policy given as
// asked. If the operator does not allow the requested policy, the result is AdoptNever. The argument o is the owner of
// the resource. The argument near is true if the owner is an object of the same namespace.
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

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

// Stranger says whether something that exists is not ours to change. Claimed
// means that the object carries the mark of a creation or adoption; mayAdopt,
// that its policy lets it take what belongs to nobody.
func Stranger(o Owner, claimed, mayAdopt bool) bool {
	switch o {
	case OwnerUnknown, OwnerOurs:
		return false
	case OwnerNobody:
		return !claimed && !mayAdopt
	default:
		return true
	}
}

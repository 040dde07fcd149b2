package lifecycle

import "testing"

// An invariant is a promise about every combination of facts there is.
var invariants = map[string]func(Facts, Action) bool{
	"there is always an action": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"nothing is changed that was not observed in this state": func(f Facts, a Action) bool {
		return !a.Mutates() || f.Presence > ListIncomplete
	},
	"nothing is changed, stored or released by what a list shows": func(f Facts, a Action) bool {
		return f.Presence != Listed || a == ConfirmListed || a == ObserveAlone
	},
	"a list is awaited exactly while it is not complete": func(f Facts, a Action) bool {
		return (a == AwaitList) == (f.Presence == ListIncomplete)
	},
	"a list item is used only where nothing is to be done": func(f Facts, a Action) bool {
		return a != ConfirmListed || f.Presence == Listed && f.Object == HasFinalizer && f.Ownership == Ours &&
			f.UpToDate && f.Metadata == Stored && !f.Unpublished
	},
	"at most one change of the external system in a pass": func(f Facts, a Action) bool {
		return f.Change != Mutated || !a.Mutates()
	},
	"a create only for a resource that does not exist": func(f Facts, a Action) bool {
		return a != Create || f.Presence != Present && (f.Doubt != Grace || f.Object == Deleted) && f.Doubt != Unconfirmed
	},
	"a create only if the policy allows it": func(f Facts, a Action) bool {
		return a != Create || f.MayCreate
	},
	"a create for a deleted object only to get the result of an earlier one": func(f Facts, a Action) bool {
		return a != Create || f.Object != Deleted ||
			(f.Attempt == Unknown || f.Attempt == CreatedUnobserved && !f.NameKnown) && f.Class == Token
	},
	"a create is repeated only where that cannot create a second resource": func(f Facts, a Action) bool {
		return a != Create || f.Class == Named || f.Class == Token ||
			f.Attempt != Unknown && f.Attempt != CreatedUnobserved
	},
	"nothing is created beside the result of the last creation": func(f Facts, a Action) bool {
		return a != Create || f.Attempt != Replaced
	},
	"the finalizer stays while the record of the last creation is not restored": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != Replaced
	},
	"nothing is created beside what another runtime has created since": func(f Facts, a Action) bool {
		return a != Create || f.Attempt != Superseded
	},
	"the finalizer stays while another runtime has created since": func(f Facts, a Action) bool {
		return a != RemoveFinalizer && a != Abandon || f.Attempt != Superseded
	},
	"a record is restored only where nothing is found, once that is confirmed": func(f Facts, a Action) bool {
		return a != RestoreRecord || f.Attempt == Replaced && f.Presence == Absent && f.Doubt != Unconfirmed &&
			(f.Doubt != Grace || f.Object == Deleted)
	},
	"an update only of a resource that exists, is ours and may be updated": func(f Facts, a Action) bool {
		return a != Update || f.Presence == Present && f.Ownership == Ours && f.Object == HasFinalizer && f.MayUpdate
	},
	"a delete only for a deleted object": func(f Facts, a Action) bool {
		return a != Delete || f.Object == Deleted
	},
	"a delete never of a resource of another owner": func(f Facts, a Action) bool {
		return a != Delete || f.Presence != Present || f.Ownership == Ours
	},
	"a delete never before other finalizers are removed": func(f Facts, a Action) bool {
		return a != Delete || !f.ForeignFinalizers
	},
	"a resource that exists is deleted again only when the last delete is long ago": func(f Facts, a Action) bool {
		return a != Delete || f.Change != DeleteSent || f.Presence != Present
	},
	"ownership is persisted only of a resource that exists": func(f Facts, a Action) bool {
		return a != PersistOwnership || f.Presence == Present
	},
	"ownership is persisted only of a resource that is ours": func(f Facts, a Action) bool {
		return a != PersistOwnership || f.Ownership == Ours
	},
	"the finalizer is removed only after an observation that found nothing": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Presence > ListIncomplete && f.Presence != Present
	},
	"the finalizer stays while a created resource may appear": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Doubt != Grace || f.Attempt != CreatedUnobserved
	},
	"the finalizer stays while the result of a create is unknown": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != Unknown || f.Class == Named
	},
	"the finalizer stays while the name of the created resource is unknown": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != CreatedUnobserved || f.NameKnown || f.Class == Named
	},
	"the finalizer stays while absence is not confirmed": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Doubt != Unconfirmed
	},
	"the finalizer is removed only from a deleted object": func(f Facts, a Action) bool {
		return a != RemoveFinalizer && a != Abandon || f.Object == Deleted
	},
	"a resource is abandoned only because it is not ours": func(f Facts, a Action) bool {
		return a != Abandon || f.Ownership == Foreign
	},
	"a resource is not abandoned while it may be the result of our create": func(f Facts, a Action) bool {
		return a != Abandon || f.Attempt != Unknown || f.Class == Named
	},
	"a resource that was ours is abandoned only after a confirmation": func(f Facts, a Action) bool {
		return a != Abandon || f.Doubt != Unconfirmed
	},
	"connection details are published only of a resource of ours with our finalizer": func(f Facts, a Action) bool {
		return a != Publish || f.Presence == Present && f.Ownership == Ours &&
			f.Object == HasFinalizer
	},
	"the object is reported as desired only once the Secret is written": func(f Facts, a Action) bool {
		return a != Keep || !f.Unpublished
	},
	"the object is reported as desired only with a resource of ours that is as desired": func(f Facts, a Action) bool {
		return a != Keep || f.Presence == Present && f.UpToDate && f.Ownership == Ours && f.Object == HasFinalizer &&
			f.Presence != Listed
	},
}

func TestInvariants(t *testing.T) {
	everyFacts(func(f Facts) {
		a := Decide(f)
		for name, holds := range invariants {
			if !holds(f, a) {
				t.Fatalf("%s: violated by %s with %+v", name, a, f)
			}
		}
	})
}

// TestDecisionsThatNeedNoPermission verifies that a permission that is not asked for does not matter.
func TestDecisionsThatNeedNoPermission(t *testing.T) {
	unasked := 0
	everyFacts(func(f Facts) {
		if f.NeedsPermission() {
			return
		}
		unasked++
		without := f
		without.MayCreate, without.MayUpdate = false, false
		if with, without := Decide(f), Decide(without); with != without {
			t.Fatalf("%s becomes %s without permissions, which are not asked for with %+v", with, without, f)
		}
	})
	if unasked == 0 {
		t.Error("want facts that need no permission")
	}
}

// TestAnyFactsEndWithinSevenActions verifies that a pass ends within seven actions, from any facts and with any
// answers of the external system: Observe, PersistOwnership, Publish, a change, Observe, Publish, the end.
func TestAnyFactsEndWithinSevenActions(t *testing.T) {
	longest := 0
	everyFacts(func(f Facts) {
		longest = max(longest, steps(f, false, 1))
		if longest > 7 {
			t.Fatalf("more than seven actions from %+v", f)
		}
	})
	if longest != 7 {
		t.Errorf("the longest pass has %d actions, want 7: does steps still follow every answer?", longest)
	}
}

// steps returns the length of the longest pass that begins with the facts. An observation is followed by every
// combination of answers. A pass that has persisted the ownership once leaves what it finds later to the next pass.
func steps(f Facts, claimed bool, depth int) int {
	a := Decide(f)
	switch {
	case a.Ends() || depth > 8:
		return depth
	case a == Observe:
		return max(stepsAfterObservation(f, claimed, depth), stepsAfterList(f, claimed, depth))
	case a == ConfirmListed:
		return stepsAfterConfirmation(f, claimed, depth)
	case a == PersistOwnership:
		f.Object, f.Metadata, claimed = max(f.Object, HasFinalizer), Stored, true
	case a == Publish:
		f.Unpublished = false
	default:
		f.Change, f.Presence, f.Object = Mutated, Unobserved, max(f.Object, HasFinalizer)
	}

	return steps(f, claimed, depth+1)
}

func stepsAfterObservation(f Facts, claimed bool, depth int) int {
	// Earlier facts about the resource do not matter.
	f.Presence, f.UpToDate, f.Ownership = Unobserved, false, Ours
	f.Metadata, f.Unpublished = Stored, false
	from := observedFrom{f, claimed, depth}
	if longest, known := lengths[from]; known {
		return longest
	}
	longest := 0
	for bits := range 96 {
		metadata := Metadata(bits % 3)
		bits /= 3
		next := func() bool {
			bit := bits&1 != 0
			bits >>= 1

			return bit
		}
		answer := f
		if next() {
			answer.Doubt = Unconfirmed
		}
		if !claimed {
			answer.Metadata = metadata
		}
		answer.UpToDate, answer.Unpublished = next(), next()
		answer.Presence, answer.Ownership = Absent+Presence(bits&1), Ownership(bits>>1&1)
		longest = max(longest, steps(answer, claimed, depth+1))
	}
	lengths[from] = longest

	return longest
}

// stepsAfterList returns the length of the longest pass in which a list shows the object. A list is used only
// for the first observation of a pass.
func stepsAfterList(f Facts, claimed bool, depth int) int {
	if f.Change == Mutated || depth > 1 {
		return depth
	}
	incomplete := f
	incomplete.Presence = ListIncomplete
	longest := steps(incomplete, claimed, depth+1)
	for bits := range 4 {
		answer := f
		answer.Presence, answer.UpToDate, answer.Ownership = Listed, bits&1 != 0, Ownership(bits>>1&1)
		answer.Metadata, answer.Unpublished, answer.Doubt = Stored, false, NoDoubt
		longest = max(longest, steps(answer, claimed, depth+1))
	}

	return longest
}

// stepsAfterConfirmation returns the length of the longest pass after a list was taken for an observation, which may
// find that something is not stored or published.
func stepsAfterConfirmation(f Facts, claimed bool, depth int) int {
	longest := 0
	for bits := range 6 {
		answer := f
		answer.Presence = Present
		answer.Metadata, answer.Unpublished = Metadata(bits%3), bits >= 3
		longest = max(longest, steps(answer, claimed, depth+1))
	}

	return longest
}

// The lengths of passes that are known already.
var lengths = map[observedFrom]int{}

type observedFrom struct {
	facts   Facts
	claimed bool
	depth   int
}

// everyFacts calls fn with every combination of facts.
func everyFacts(fn func(Facts)) {
	states := [...]int{
		int(Deleted) + 1, int(Findable) + 1, int(Superseded) + 1, int(Mutated) + 1, int(Present) + 1,
		int(Unconfirmed) + 1, int(Foreign) + 1, int(SettlesCreate) + 1,
	}
	const flags = 6
	combinations := 1 << flags
	for _, n := range states {
		combinations *= n
	}
	var s [len(states)]int
	for choice := range combinations {
		bits := choice >> flags
		for i, n := range states {
			s[i], bits = bits%n, bits/n
		}
		flag := func(i int) bool { return choice>>i&1 != 0 }
		fn(Facts{
			ForeignFinalizers: flag(0), MayCreate: flag(1), MayUpdate: flag(2), NameKnown: flag(3), UpToDate: flag(4),
			Unpublished: flag(5), Object: Object(s[0]), Class: CreateClass(s[1]), Attempt: Attempt(s[2]), Change: Change(s[3]),
			Presence: Presence(s[4]), Doubt: Doubt(s[5]), Ownership: Ownership(s[6]), Metadata: Metadata(s[7]),
		})
	}
}

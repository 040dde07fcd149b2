package lifecycle

import "testing"

// An invariant is a promise about every combination of facts there is.
var invariants = map[string]func(Facts, Action) bool{
	"a pass always knows what to do": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"nothing is called while paused or while a policy is not understood": func(f Facts, a Action) bool {
		return !(f.Paused || f.Invalid) || a == Pause || a == Reject || !f.Paused && a == Ignore
	},
	"nothing is changed that was not looked at in this state": func(f Facts, a Action) bool {
		return !a.Mutates() || f.Presence != Unobserved
	},
	"nothing is changed, stored or released by what a list shows": func(f Facts, a Action) bool {
		return f.Presence != Listed || a == ConfirmListed || a == ObserveAlone || a == Pause || a == Reject ||
			a == Ignore || a == Orphan
	},
	"what a list shows is believed only where nothing is to be done": func(f Facts, a Action) bool {
		return a != ConfirmListed || f.Presence == Listed && !f.Deleted && f.Ownership == Ours && f.HasFinalizer &&
			f.UpToDate && !f.Dirty && !f.Unpublished
	},
	"at most one change outside in a pass": func(f Facts, a Action) bool {
		return !f.Mutated || !a.Mutates()
	},
	"a create only for what does not exist": func(f Facts, a Action) bool {
		return a != Create || f.Presence != Present && (f.Doubt != Grace || f.Deleted) && f.Doubt != Unconfirmed
	},
	"a create only if the policy allows it": func(f Facts, a Action) bool {
		return a != Create || f.May.Create
	},
	"a create for a deleted object only to learn what an earlier one led to": func(f Facts, a Action) bool {
		return a != Create || !f.Deleted || (f.Attempt == Unknown || f.Attempt == CreatedUnobserved && !f.NameKnown) &&
			f.Class == Token
	},
	"a create is never repeated blindly": func(f Facts, a Action) bool {
		return a != Create || f.Class == Named || f.Class == Token ||
			f.Attempt != Unknown && f.Attempt != CreatedUnobserved
	},
	"a create never makes another beside what the last creation made": func(f Facts, a Action) bool {
		return a != Create || f.Attempt != Replaced
	},
	"the finalizer stays while the last creation is not looked for": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != Replaced
	},
	"a create never makes another beside what another runtime created since": func(f Facts, a Action) bool {
		return a != Create || f.Attempt != Superseded
	},
	"the finalizer stays while another runtime has created since": func(f Facts, a Action) bool {
		return a != RemoveFinalizer && a != Abandon || f.Attempt != Superseded
	},
	"a record is put back only where nothing is found, once that is believed": func(f Facts, a Action) bool {
		return a != RestoreRecord || f.Attempt == Replaced && f.Presence == Absent && f.Doubt != Unconfirmed &&
			(f.Doubt != Grace || f.Deleted)
	},
	"an update only of what exists, is ours, is held and may be updated": func(f Facts, a Action) bool {
		return a != Update || f.Presence == Present && f.Ownership == Ours && f.HasFinalizer && f.May.Update &&
			!f.Deleted
	},
	"a delete only for a deleted object that we hold and whose policy allows it": func(f Facts, a Action) bool {
		return a != Delete || f.Deleted && f.HasFinalizer && f.May.Delete
	},
	"a delete never of a stranger's resource": func(f Facts, a Action) bool {
		return a != Delete || f.Presence != Present || f.Ownership == Ours
	},
	"a delete never before others are done": func(f Facts, a Action) bool {
		return a != Delete || !f.ForeignFinalizers
	},
	"a resource that exists is deleted again only when the last delete is long ago": func(f Facts, a Action) bool {
		return a != Delete || !f.DeleteSent || f.Presence != Present
	},
	"nothing is claimed that does not exist": func(f Facts, a Action) bool {
		return a != PersistOwnership || f.Presence == Present && f.Presence != Unobserved
	},
	"nothing of a stranger is claimed": func(f Facts, a Action) bool {
		return a != PersistOwnership || f.Ownership == Ours
	},
	"the finalizer goes only after a look that found nothing": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Presence != Unobserved && f.Presence != Present
	},
	"the finalizer stays while a created resource may not show yet": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Doubt != Grace || f.Attempt != CreatedUnobserved
	},
	"the finalizer stays while nobody knows what was created": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != Unknown || f.Class == Named
	},
	"the finalizer stays while nobody knows the name of what was created": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Attempt != CreatedUnobserved || f.NameKnown || f.Class == Named
	},
	"the finalizer stays while absence is not proved": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Doubt != Unconfirmed
	},
	"the finalizer is only let go of a deleted object": func(f Facts, a Action) bool {
		return a != RemoveFinalizer && a != Orphan && a != Abandon || f.Deleted
	},
	"a resource is left behind only by policy or because it is not ours": func(f Facts, a Action) bool {
		return a != Orphan && a != Abandon || !f.May.Delete || f.Ownership == Foreign
	},
	"nothing is released while it may be what a create of ours led to": func(f Facts, a Action) bool {
		return a != Abandon || f.Attempt != Unknown || f.Class == Named
	},
	"nothing is released before a second look, if it was known to be ours": func(f Facts, a Action) bool {
		return a != Abandon || f.Doubt != Unconfirmed
	},
	"connection details are published only of what is ours, held and wanted": func(f Facts, a Action) bool {
		return a != Publish || f.Presence != Unobserved && f.Presence == Present && f.Ownership == Ours &&
			f.HasFinalizer &&
			!f.Deleted
	},
	"nobody is told that all is well before the Secret is written": func(f Facts, a Action) bool {
		return a != Keep || !f.Unpublished
	},
	"all is well only with what exists, is ours, held and as desired": func(f Facts, a Action) bool {
		return a != Keep || f.Presence == Present && f.UpToDate && f.Ownership == Ours && f.HasFinalizer &&
			f.Presence != Unobserved
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

// What nobody asks for may not matter.
func TestDecisionsThatNeedNoPermission(t *testing.T) {
	spared := 0
	everyFacts(func(f Facts) {
		if f.NeedsPermission() {
			return
		}
		spared++
		without := f
		without.May = Permissions{}
		if with, without := Decide(f), Decide(without); with != without {
			t.Fatalf("%s becomes %s without permissions, and nobody asks for them with %+v", with, without, f)
		}
	})
	if spared == 0 {
		t.Error("want facts that need no permission")
	}
}

// Whatever is known and whatever the outside answers, a pass ends within seven
// actions: look, claim, publish, change, look, publish, end.
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

// steps returns the length of the longest pass that begins with what is known.
// What the outside answers to a look is every combination of answers. A pass
// that has claimed the object once leaves what it learns later to the next.
func steps(f Facts, claimed bool, depth int) int {
	a := Decide(f)
	switch {
	case a.Ends() || depth > 8:
		return depth
	case a == Observe:
		return max(stepsAfterLook(f, claimed, depth), stepsAfterList(f, claimed, depth))
	case a == ConfirmListed:
		return stepsAfterConfirmation(f, claimed, depth)
	case a == PersistOwnership:
		f.HasFinalizer, f.Dirty, f.SettlesCreate, claimed = true, false, false, true
	case a == Publish:
		f.Unpublished = false
	default:
		f.Mutated, f.Presence, f.HasFinalizer = true, Unobserved, true
		f.DeleteSent = f.DeleteSent || a == Delete
	}

	return steps(f, claimed, depth+1)
}

func stepsAfterLook(f Facts, claimed bool, depth int) int {
	// What was known of the outside before does not matter.
	f.Presence, f.UpToDate, f.Ownership = Unobserved, false, Ours
	f.Dirty, f.SettlesCreate, f.Unpublished = false, false, false
	from := looked{f, claimed, depth}
	if longest, known := lengths[from]; known {
		return longest
	}
	longest := 0
	for bits := range 128 {
		next := func() bool {
			bit := bits&1 != 0
			bits >>= 1

			return bit
		}
		answer := f
		if next() {
			answer.Doubt = Unconfirmed
		}
		answer.Dirty, answer.SettlesCreate = next() && !claimed, next() && !claimed
		answer.UpToDate, answer.Unpublished = next(), next()
		answer.Presence, answer.Ownership = Absent+Presence(bits&1), Ownership(bits>>1&1)
		longest = max(longest, steps(answer, claimed, depth+1))
	}
	lengths[from] = longest

	return longest
}

// stepsAfterList returns the length of the longest pass in which a list shows the object. A list is asked for at the
// first look of a pass.
func stepsAfterList(f Facts, claimed bool, depth int) int {
	if f.Mutated || depth > 1 {
		return depth
	}
	longest := 0
	for bits := range 4 {
		answer := f
		answer.Presence, answer.UpToDate, answer.Ownership = Listed, bits&1 != 0, Ownership(bits>>1&1)
		answer.Dirty, answer.SettlesCreate, answer.Unpublished, answer.Doubt = false, false, false, NoDoubt
		longest = max(longest, steps(answer, claimed, depth+1))
	}

	return longest
}

// stepsAfterConfirmation returns the length of the longest pass after a list was taken for an observation, which may
// find that something is not stored or published.
func stepsAfterConfirmation(f Facts, claimed bool, depth int) int {
	longest := 0
	for bits := range 8 {
		answer := f
		answer.Presence = Present
		answer.Dirty, answer.SettlesCreate, answer.Unpublished = bits&1 != 0, bits&2 != 0, bits&4 != 0
		longest = max(longest, steps(answer, claimed, depth+1))
	}

	return longest
}

// Lengths of passes that were followed already.
var lengths = map[looked]int{}

type looked struct {
	facts   Facts
	claimed bool
	depth   int
}

// everyFacts calls fn with every combination of facts.
func everyFacts(fn func(Facts)) {
	const flags = 15
	for choice := range (Findable + 1) * (Class(Present) + 1) * (Class(Superseded) + 1) * (Class(Unconfirmed) +
		1) * (Class(Foreign) + 1) << flags {
		bits := int(choice)
		flag := func() bool {
			bit := bits&1 != 0
			bits >>= 1

			return bit
		}
		state := func(states int) int {
			state := bits % states
			bits /= states

			return state
		}
		fn(Facts{
			Paused: flag(), Invalid: flag(), Deleted: flag(), HasFinalizer: flag(), ForeignFinalizers: flag(),
			May:       Permissions{Create: flag(), Update: flag(), Delete: flag()},
			NameKnown: flag(), DeleteSent: flag(), UpToDate: flag(), Dirty: flag(), SettlesCreate: flag(),
			Unpublished: flag(), Mutated: flag(),
			Presence: Presence(state(4)), Attempt: Attempt(state(5)), Doubt: Doubt(state(3)),
			Ownership: Ownership(state(2)), Class: Class(state(4)),
		})
	}
}

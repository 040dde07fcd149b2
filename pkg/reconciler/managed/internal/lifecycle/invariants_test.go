package lifecycle

import "testing"

// An invariant is a promise about every combination of facts there is.
var invariants = map[string]func(Facts, Action) bool{
	"a pass always knows what to do": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"nothing is called while paused or while a policy is not understood": func(f Facts, a Action) bool {
		return !(f.Paused || f.Invalid) || a == Pause || a == Reject || !f.Paused && a == Rest
	},
	"nothing is changed that was not looked at in this state": func(f Facts, a Action) bool {
		return !a.Mutates() || f.Observed
	},
	"at most one change outside in a pass": func(f Facts, a Action) bool {
		return !f.Acted || !a.Mutates()
	},
	"a create only for what does not exist": func(f Facts, a Action) bool {
		return a != Create || !f.Exists && (!f.Settling || f.Deleted) && !f.Searching
	},
	"a create only if the policy allows it": func(f Facts, a Action) bool {
		return a != Create || f.May.Create
	},
	"a create for a deleted object only to learn what an earlier one led to": func(f Facts, a Action) bool {
		return a != Create || !f.Deleted || f.Unresolved && f.Class == Token
	},
	"a create is never repeated blindly": func(f Facts, a Action) bool {
		return a != Create || f.Class == Named || f.Class == Token || !f.Unresolved && !f.Unseen
	},
	"an update only of what exists, is ours, is held and may be updated": func(f Facts, a Action) bool {
		return a != Update || f.Exists && !f.Stranger && f.Held && f.May.Update && !f.Deleted
	},
	"a delete only for a deleted object that we hold and whose policy allows it": func(f Facts, a Action) bool {
		return a != Delete || f.Deleted && f.Held && f.May.Delete
	},
	"a delete never of a stranger's resource": func(f Facts, a Action) bool {
		return a != Delete || !f.Exists || !f.Stranger
	},
	"a delete never before others are done": func(f Facts, a Action) bool {
		return a != Delete || !f.Awaited
	},
	"a resource that exists is deleted again only when the last delete is long ago": func(f Facts, a Action) bool {
		return a != Delete || !f.DeleteSent || !f.Exists
	},
	"nothing is claimed that does not exist": func(f Facts, a Action) bool {
		return a != Claim || f.Exists && f.Observed
	},
	"nothing of a stranger is claimed": func(f Facts, a Action) bool {
		return a != Claim || !f.Stranger
	},
	"the finalizer goes only after a look that found nothing": func(f Facts, a Action) bool {
		return a != Finalize || f.Observed && !f.Exists
	},
	"the finalizer stays while a created resource may not show yet": func(f Facts, a Action) bool {
		return a != Finalize || !f.Settling || !f.Unseen
	},
	"the finalizer stays while nobody knows what was created": func(f Facts, a Action) bool {
		return a != Finalize || !f.Unresolved || f.Class == Named
	},
	"the finalizer stays while absence is not proved": func(f Facts, a Action) bool {
		return a != Finalize || !f.Searching
	},
	"the finalizer is only let go of a deleted object": func(f Facts, a Action) bool {
		return a != Finalize && a != Orphan && a != Release || f.Deleted
	},
	"a resource is left behind only by policy or because it is not ours": func(f Facts, a Action) bool {
		return a != Orphan && a != Release || !f.May.Delete || f.Stranger
	},
	"nothing is released while it may be what a create of ours led to": func(f Facts, a Action) bool {
		return a != Release || !f.Unresolved || f.Class == Named
	},
	"connection details are published only of what is ours, held and wanted": func(f Facts, a Action) bool {
		return a != Publish || f.Observed && f.Exists && !f.Stranger && f.Held && !f.Deleted
	},
	"nobody is told that all is well before the Secret is written": func(f Facts, a Action) bool {
		return a != Keep || !f.Unpublished
	},
	"all is well only with what exists, is ours, held and as desired": func(f Facts, a Action) bool {
		return a != Keep || f.Exists && f.UpToDate && !f.Stranger && f.Held && f.Observed
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

// Steps returns the length of the longest pass that begins with what is known.
// What the outside answers to a look is every combination of answers. A pass
// that has claimed the object once leaves what it learns later to the next.
func steps(f Facts, claimed bool, depth int) int {
	a := Decide(f)
	switch {
	case a.Ends() || depth > 8:
		return depth
	case a == Observe:
		return stepsAfterLook(f, claimed, depth)
	case a == Claim:
		f.Held, f.Learned, f.Resolves, claimed = true, false, false, true
	case a == Publish:
		f.Unpublished = false
	default:
		f.Acted, f.Observed, f.Held = true, false, true
		f.DeleteSent = f.DeleteSent || a == Delete
	}

	return steps(f, claimed, depth+1)
}

func stepsAfterLook(f Facts, claimed bool, depth int) int {
	// What was known of the outside before does not matter.
	f.Observed, f.Exists, f.UpToDate, f.Stranger, f.Searching = true, false, false, false, false
	f.Learned, f.Resolves, f.Unpublished = false, false, false
	from := looked{f, claimed, depth}
	if longest, known := lengths[from]; known {
		return longest
	}
	longest := 0
	for bits := range 128 {
		f.Searching = bits&64 != 0
		f.Exists, f.UpToDate, f.Stranger, f.Unpublished = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&32 != 0
		f.Learned, f.Resolves = bits&8 != 0 && !claimed, bits&16 != 0 && !claimed
		longest = max(longest, steps(f, claimed, depth+1))
	}
	lengths[from] = longest

	return longest
}

// Lengths of passes that were followed already.
var lengths = map[looked]int{}

type looked struct {
	facts   Facts
	claimed bool
	depth   int
}

// EveryFacts calls fn with every combination of facts.
func everyFacts(fn func(Facts)) {
	const fields = 22
	for bits := range 4 << fields {
		next := func() bool {
			bit := bits&1 != 0
			bits >>= 1

			return bit
		}
		fn(Facts{
			Paused: next(), Invalid: next(), Deleted: next(), Held: next(), Awaited: next(),
			May:      Permissions{Create: next(), Update: next(), Delete: next()},
			Settling: next(), NameKnown: next(), Unresolved: next(), Unseen: next(), DeleteSent: next(),
			Observed: next(), Exists: next(), UpToDate: next(), Stranger: next(), Learned: next(), Resolves: next(), Unpublished: next(),
			Searching: next(), Acted: next(), Class: Class(bits),
		})
	}
}

package dispatch

import "testing"

// An invariant is a promise about every combination of facts there is.
var invariants = map[string]func(Facts, Action) bool{
	"a pass always knows what to do": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"nothing is done on knowledge older than our own writes": func(f Facts, a Action) bool {
		return !f.Stale || a == AwaitSelf
	},
	"nothing foreign is deleted": func(f Facts, a Action) bool {
		return a != Delete || !f.Foreign
	},
	"nothing foreign is shown to a syncer as its own": func(f Facts, a Action) bool {
		return a != Sync || !f.Foreign
	},
	"an old image is never synced": func(f Facts, a Action) bool {
		return a != Sync || !f.Former
	},
	"nothing is deleted because a cache says so": func(f Facts, a Action) bool {
		return a != Delete || f.Confirmed
	},
	"what is deleted exists and is not going already": func(f Facts, a Action) bool {
		return a != Delete || f.There && !f.LeavingThere
	},
	"the image of a living object is never deleted": func(f Facts, a Action) bool {
		return a != Delete || !f.Here || f.Leaving || f.Former
	},
	"nothing is made for what is being deleted, unless asked for": func(f Facts, a Action) bool {
		return a != Down || !f.Leaving || f.Revive
	},
	"nothing is made where something is": func(f Facts, a Action) bool {
		return a != Down || f.Here && !f.There
	},
	"a wanted object is held before its image is made or changed, if host objects go first": func(f Facts, a Action) bool {
		return !f.Here || f.Leaving || !f.HostFirst || f.Held || a != Down && a != Sync
	},
	"only a wanted object is held": func(f Facts, a Action) bool {
		return a != Hold || f.Here && !f.Leaving && !f.Held
	},
	"while host objects go first, a held object is let go only in its deletion, without an image of ours": func(f Facts, a Action) bool {
		return a != Release || f.Held && (!f.HostFirst || f.Leaving && (!f.There || f.Foreign))
	},
	"no object is held that host objects do not go before, unless its name is taken": func(f Facts, a Action) bool {
		return f.HostFirst || !f.Here || !f.Held || f.Stale || f.There && f.Foreign || a == Release
	},
	"a syncer sees both objects only if both exist": func(f Facts, a Action) bool {
		return a != Sync || f.Here && f.There
	},
	"only syncers that ask for it look up, and only at what has no virtual object": func(f Facts, a Action) bool {
		return a != Up || f.Up && !f.Here && f.There
	},
	"users are told of every wanted object that is refused": func(f Facts, a Action) bool {
		refused := f.Here && !f.Leaving && f.There && f.Foreign && !f.Stale
		return refused == (a == Refuse || a == Overlook) && (a != Overlook || f.Silent)
	},
	"the virtual API server is asked once": func(f Facts, a Action) bool {
		return a != Confirm || !f.Confirmed
	},
}

func TestInvariants(t *testing.T) {
	count := 0
	everyFacts(func(f Facts) {
		count++
		a := Decide(f)
		for name, holds := range invariants {
			if !holds(f, a) {
				t.Fatalf("%s: violated by %s with %+v", name, a, f)
			}
		}
	})
	t.Logf("combinations: %d", count)
}

// Whatever is known, a pass ends within three actions.
func TestAnyFactsEndWithinThreeActions(t *testing.T) {
	everyFacts(func(f Facts) {
		for range 3 {
			a := Decide(f)
			switch {
			case a.Ends():
				return
			case a == Hold:
				f.Held = true
			default:
				f.Confirmed = true
			}
		}
		t.Fatalf("no end after three actions: %+v", f)
	})
}

func TestEveryActionIsReached(t *testing.T) {
	seen := map[Action]bool{}
	everyFacts(func(f Facts) { seen[Decide(f)] = true })
	for _, a := range Actions() {
		if !seen[a] {
			t.Errorf("no facts lead to %s", a)
		}
	}
}

func everyFacts(visit func(Facts)) {
	const facts = 13
	for bits := range 1 << facts {
		n := 0
		next := func() bool { n++; return bits>>(n-1)&1 == 1 }
		f := Facts{
			Stale: next(), Here: next(), Leaving: next(), Held: next(), There: next(), LeavingThere: next(), Foreign: next(), Former: next(),
			Confirmed: next(), Up: next(), HostFirst: next(), Revive: next(), Silent: next(),
		}
		if n != facts {
			panic("a fact is not counted")
		}
		visit(f)
	}
}

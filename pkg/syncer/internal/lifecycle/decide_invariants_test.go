package lifecycle

import "testing"

// invariants hold for every combination of facts.
var invariants = map[string]func(Facts, Action) bool{
	"every combination has an action": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"a pass with a stale cache only waits": func(f Facts, a Action) bool {
		return !f.Stale || a == AwaitCache
	},
	"a foreign object is never deleted": func(f Facts, a Action) bool {
		return a != DeleteHost || !f.Foreign
	},
	"Sync is never called for a foreign object": func(f Facts, a Action) bool {
		return a != Sync || !f.Foreign
	},
	"Sync is never called for a former image": func(f Facts, a Action) bool {
		return a != Sync || !f.UIDMismatch
	},
	"a deletion is always confirmed": func(f Facts, a Action) bool {
		return a != DeleteHost || f.Confirmed
	},
	"only an existing object that is not being deleted is deleted": func(f Facts, a Action) bool {
		return a != DeleteHost || f.HostExists && !f.HostDeleted
	},
	"the image of a wanted object is never deleted": func(f Facts, a Action) bool {
		return a != DeleteHost || !f.VirtualExists || f.VirtualDeleted || f.UIDMismatch
	},
	"no host object is created during a deletion, unless the option asks for it": func(f Facts, a Action) bool {
		return a != SyncDown || !f.VirtualDeleted || f.RecreateDeleted
	},
	"SyncDown is called only if there is no host object": func(f Facts, a Action) bool {
		return a != SyncDown || f.VirtualExists && !f.HostExists
	},
	"with DeleteHostFirst the finalizer is added before the image is created or changed": func(f Facts, a Action) bool {
		return !f.VirtualExists || f.VirtualDeleted || !f.DeleteHostFirst || f.HasFinalizer || a != SyncDown && a != Sync
	},
	"the finalizer is added only to a wanted object": func(f Facts, a Action) bool {
		return a != AddFinalizer || f.VirtualExists && !f.VirtualDeleted && !f.HasFinalizer
	},
	"with DeleteHostFirst the finalizer is removed only during a deletion without an image": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.HasFinalizer && (!f.DeleteHostFirst || f.VirtualDeleted && (!f.HostExists ||
			f.Foreign))
	},
	"without DeleteHostFirst no object keeps the finalizer, unless it has a conflict": func(f Facts, a Action) bool {
		return f.DeleteHostFirst || !f.VirtualExists || !f.HasFinalizer || f.Stale || f.HostExists && f.Foreign ||
			a == RemoveFinalizer
	},
	"Sync is called only if both objects exist": func(f Facts, a Action) bool {
		return a != Sync || f.VirtualExists && f.HostExists
	},
	"SyncUp is called only for an UpSyncer and without a virtual object": func(f Facts, a Action) bool {
		return a != SyncUp || f.WantsSyncUp && !f.VirtualExists && f.HostExists
	},
	"every conflict of a wanted object is reported, unless it is ignored": func(f Facts, a Action) bool {
		refused := f.VirtualExists && !f.VirtualDeleted && f.HostExists && f.Foreign && !f.Stale
		return refused == (a == ReportConflict || a == IgnoreConflict) && (a != IgnoreConflict || f.IgnoreConflicts)
	},
	"the absence is confirmed once": func(f Facts, a Action) bool {
		return a != Confirm || !f.Confirmed
	},
}

// TestInvariants checks every invariant for every combination of facts.
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

// TestAnyFactsEndWithinThreeActions verifies that a pass ends after three actions at
// most.
func TestAnyFactsEndWithinThreeActions(t *testing.T) {
	everyFacts(func(f Facts) {
		for range 3 {
			a := Decide(f)
			switch {
			case a.Ends():
				return
			case a == AddFinalizer:
				f.HasFinalizer = true
			default:
				f.Confirmed = true
			}
		}
		t.Fatalf("the pass does not end after three actions: %+v", f)
	})
}

// TestEveryActionIsReached verifies that some facts lead to each action.
func TestEveryActionIsReached(t *testing.T) {
	seen := map[Action]bool{}
	everyFacts(func(f Facts) { seen[Decide(f)] = true })
	for _, a := range Actions() {
		if !seen[a] {
			t.Errorf("no combination of facts leads to %s", a)
		}
	}
}

// everyFacts calls visit with every combination of facts.
func everyFacts(visit func(Facts)) {
	const facts = 13
	for bits := range 1 << facts {
		n := 0
		next := func() bool { n++; return bits>>(n-1)&1 == 1 }
		f := Facts{
			Stale: next(), VirtualExists: next(), VirtualDeleted: next(), HasFinalizer: next(),
			HostExists: next(), HostDeleted: next(), Foreign: next(), UIDMismatch: next(),
			Confirmed: next(), WantsSyncUp: next(), DeleteHostFirst: next(), RecreateDeleted: next(), IgnoreConflicts: next(),
		}
		if n != facts {
			panic("a fact is missing")
		}
		visit(f)
	}
}

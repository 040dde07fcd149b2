package passage

import "testing"

// An invariant is a promise about every combination of facts there is.
var invariants = map[string]func(Facts, Action) bool{
	"a pass always knows what to do": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"what does not exist is left alone": func(f Facts, a Action) bool {
		return f.Found || a == Rest
	},
	"what is paused is left alone, but for a deletion that goes on": func(f Facts, a Action) bool {
		return !f.Found || !f.Paused || f.Leaving && f.DeletePaused || a == Pause
	},
	"the domain works only on what is wanted, held, filled up, configured and accessible": func(f Facts, a Action) bool {
		return a != Work || !f.Leaving && f.Held && f.Defaulted && f.ConfigFound && !f.ConfigUnknown && f.Granted && !f.Denied
	},
	"the domain cleans only what goes, what is held, and with access": func(f Facts, a Action) bool {
		return a != Clean || f.Leaving && f.Held && f.Granted && !f.Denied && !f.ClusterGone && !f.NotOwned && !f.Cleaned
	},
	"the domain cleans without a configuration only if it was said so": func(f Facts, a Action) bool {
		return a != Clean || f.ConfigFound || f.NoConfigDelete
	},
	"while the runtime before gives access back the domain is not called": func(f Facts, a Action) bool {
		return a != Clean || f.Request != Leaving || f.Record
	},
	"a request that is missing is no reason to let go of what the domain may have made": func(f Facts, a Action) bool {
		policy := f.ConfigAsked && !f.ConfigFound && f.NoConfigOrphan || f.AccessAsked && f.ClusterGone && f.OrphanGone

		return a != Withdraw || !f.Made || f.Request != Missing || f.Cleaned || policy
	},
	"a request that is being deleted is no reason to let go of what our own record says was made": func(f Facts, a Action) bool {
		policy := f.ConfigAsked && !f.ConfigFound && f.NoConfigOrphan || f.AccessAsked && f.ClusterGone && f.OrphanGone

		return a != Withdraw || !f.Record || f.Request != Leaving || f.Cleaned || policy
	},
	"the finalizer goes only after access was given back": func(f Facts, a Action) bool {
		return a != Release || f.Leaving && f.Held && f.Withdrawn
	},
	"access is given back only from what goes, and after cleaning, or where there is nothing to clean, or by a policy": func(f Facts, a Action) bool {
		nothing := f.Request == Leaving && !f.Record || f.Request == Missing && !f.Made
		policy := f.ConfigAsked && !f.ConfigFound && f.NoConfigOrphan || f.AccessAsked && f.ClusterGone && f.OrphanGone

		return a != Withdraw || f.Leaving && f.Held && (f.Cleaned || nothing || policy)
	},
	"a configuration that cannot be read right now decides nothing": func(f Facts, a Action) bool {
		deciding := a == NeedConfig || a == Block || a == Access || a == Hold || a == Clean || a == Work

		return !deciding || !f.ConfigUnknown
	},
	"the object is not held before there is a configuration, or when it goes": func(f Facts, a Action) bool {
		return a != Hold || !f.Leaving && !f.Held && f.ConfigFound
	},
	"access is not asked for anew for what goes while the runtime before gives it back": func(f Facts, a Action) bool {
		return a != Access || !f.Leaving || f.Request == Asked || f.Request == Missing && f.Made || f.Request == Leaving && f.Record
	},
	"access is asked for once": func(f Facts, a Action) bool { return a != Access || !f.AccessAsked },
	"the configuration is looked for once": func(f Facts, a Action) bool {
		return a != Configure || !f.ConfigAsked
	},
	"what is wanted is never blocked, cleaned, given back or released": func(f Facts, a Action) bool {
		return !f.Found || f.Leaving || a != Block && a != Clean && a != Withdraw && a != Release && a != Check
	},
	"a deletion that is blocked waits for a configuration, for a cluster or for a request of somebody else": func(f Facts, a Action) bool {
		return a != Block || f.ConfigAsked && !f.ConfigFound && !f.NoConfigOrphan && !f.NoConfigDelete || f.ClusterGone && !f.OrphanGone || f.NotOwned
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

// Whatever is known, a pass ends within seven actions.
func TestAnyFactsEnd(t *testing.T) {
	everyFacts(func(f Facts) {
		for range 7 {
			switch a := Decide(f); a {
			case Configure:
				f.ConfigAsked = true
			case Hold:
				f.Held = true
			case Default:
				f.Defaulted = true
			case Check:
				f.Request = Asked
			case Access:
				f.AccessAsked = true
			case Clean:
				f.Cleaned = true
			case Withdraw:
				f.Withdrawn = true
			default:
				if !a.Ends() {
					t.Fatalf("%s is not handled", a)
				}

				return
			}
		}
		t.Fatalf("no end after seven actions: %+v", f)
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
	const facts = 23
	for bits := range 1 << facts {
		n := 0
		next := func() bool { n++; return bits>>(n-1)&1 == 1 }
		two := func() Request { n += 2; return Request(bits >> (n - 2) & 3) }
		f := Facts{
			Found: next(), Leaving: next(), Held: next(), Paused: next(), Made: next(), Record: next(),
			ConfigAsked: next(), ConfigFound: next(), ConfigUnknown: next(), Defaulted: next(), Request: two(),
			AccessAsked: next(), Granted: next(), Denied: next(), ClusterGone: next(), NotOwned: next(), Cleaned: next(), Withdrawn: next(),
			DeletePaused: next(), OrphanGone: next(), NoConfigOrphan: next(), NoConfigDelete: next(),
		}
		if n != facts {
			panic("a fact is not counted")
		}
		visit(f)
	}
}

package lifecycle

import (
	"maps"
	"slices"
	"testing"
)

// invariants hold for every combination of facts.
var invariants = map[string]func(Facts, Action) bool{
	"every combination has an action": func(_ Facts, a Action) bool {
		return a > none && a < end
	},
	"an object that does not exist is ignored": func(f Facts, a Action) bool {
		return f.Exists || a == Nothing
	},
	"a paused object is only reported, except for a deletion with DeleteWhenPaused": func(f Facts, a Action) bool {
		return !f.Exists || !f.Paused || f.Deleted && f.DeleteWhenPaused || a == ReportPaused
	},
	"CreateOrUpdate is called only for a wanted object with finalizer, defaults, configuration and access": func(
		f Facts, a Action,
	) bool {
		return a != CreateOrUpdate || !f.Deleted && f.HasFinalizer && f.Defaulted && f.ConfigFound && !f.ConfigUnknown &&
			f.Granted && !f.Denied
	},
	"Delete is called only for an object that is being deleted, with finalizer and access": func(f Facts, a Action) bool {
		return a != DeleteService || f.Deleted && f.HasFinalizer && f.Granted && !f.Denied && !f.ClusterGone &&
			!f.NotOwned && !f.ServiceDeleted
	},
	"Delete is called without a configuration only with DeleteWithoutConfig": func(f Facts, a Action) bool {
		return a != DeleteService || f.ConfigFound || f.DeleteWithoutConfig
	},
	"Delete is not called while a previous runtime releases access": func(f Facts, a Action) bool {
		return a != DeleteService || f.Requests != RequestDeleting || f.CreationRecorded
	},
	"a missing request does not orphan what the domain may have created": func(f Facts, a Action) bool {
		policy := f.ConfigRead && !f.ConfigFound && f.OrphanWithoutConfig || f.AccessRequested && f.ClusterGone &&
			f.OrphanOnClusterGone

		return a != ReleaseAccess || !f.MaybeCreated || f.Requests != RequestMissing || f.ServiceDeleted || policy
	},
	"a request that is being deleted does not orphan what ServiceCreated records": func(f Facts, a Action) bool {
		policy := f.ConfigRead && !f.ConfigFound && f.OrphanWithoutConfig || f.AccessRequested && f.ClusterGone &&
			f.OrphanOnClusterGone

		return a != ReleaseAccess || !f.CreationRecorded || f.Requests != RequestDeleting || f.ServiceDeleted || policy
	},
	"the finalizer is removed only after access was released": func(f Facts, a Action) bool {
		return a != RemoveFinalizer || f.Deleted && f.HasFinalizer && f.AccessReleased
	},
	"access is released only in a deletion: after Delete, without anything to delete, or by a policy": func(
		f Facts, a Action,
	) bool {
		nothing := f.Requests == RequestDeleting && !f.CreationRecorded || f.Requests == RequestMissing && !f.MaybeCreated
		policy := f.ConfigRead && !f.ConfigFound && f.OrphanWithoutConfig || f.AccessRequested && f.ClusterGone &&
			f.OrphanOnClusterGone

		return a != ReleaseAccess || f.Deleted && f.HasFinalizer && (f.ServiceDeleted || nothing || policy)
	},
	"a configuration that cannot be read now decides nothing": func(f Facts, a Action) bool {
		deciding := a == ReportConfigMissing || a == ReportDeletionBlocked || a == RequestAccess || a == AddFinalizer ||
			a == DeleteService || a == CreateOrUpdate

		return !deciding || !f.ConfigUnknown
	},
	"the finalizer is added only to a wanted object with a configuration": func(f Facts, a Action) bool {
		return a != AddFinalizer || !f.Deleted && !f.HasFinalizer && f.ConfigFound
	},
	"a deletion does not request access while a previous runtime releases it": func(f Facts, a Action) bool {
		return a != RequestAccess || !f.Deleted || f.Requests == RequestsPresent || f.Requests == RequestMissing &&
			f.MaybeCreated || f.Requests == RequestDeleting && f.CreationRecorded
	},
	"access is requested once": func(f Facts, a Action) bool { return a != RequestAccess || !f.AccessRequested },
	"the configuration is read once": func(f Facts, a Action) bool {
		return a != ReadConfig || !f.ConfigRead
	},
	"a wanted object is never blocked or deleted, and keeps access and finalizer": func(f Facts, a Action) bool {
		return !f.Exists || f.Deleted || a != ReportDeletionBlocked && a != DeleteService && a != ReleaseAccess &&
			a != RemoveFinalizer && a != CheckRequests
	},
	"a blocked deletion waits for a configuration, a cluster or a request with another owner": func(
		f Facts, a Action,
	) bool {
		return a != ReportDeletionBlocked || f.ConfigRead && !f.ConfigFound && !f.OrphanWithoutConfig &&
			!f.DeleteWithoutConfig || f.ClusterGone && !f.OrphanOnClusterGone || f.NotOwned
	},
}

// TestInvariants checks every invariant for every combination of facts.
func TestInvariants(t *testing.T) {
	// A loop over the map would take most of the time: there are eight million combinations.
	names := slices.Sorted(maps.Keys(invariants))
	var holds []func(Facts, Action) bool
	for _, name := range names {
		holds = append(holds, invariants[name])
	}
	count := 0
	everyFacts(func(f Facts) {
		count++
		a := Decide(f)
		for i := range holds {
			if !holds[i](f, a) {
				t.Fatalf("%s: violated by %s with %+v", names[i], a, f)
			}
		}
	})
	t.Logf("combinations: %d", count)
}

// TestAnyFactsEndWithinSevenActions verifies that a pass ends after seven actions at most.
func TestAnyFactsEndWithinSevenActions(t *testing.T) {
	everyFacts(func(f Facts) {
		for range 7 {
			switch a := Decide(f); a {
			case ReadConfig:
				f.ConfigRead = true
			case AddFinalizer:
				f.HasFinalizer = true
			case Default:
				f.Defaulted = true
			case CheckRequests:
				f.Requests = RequestsPresent
			case RequestAccess:
				f.AccessRequested = true
			case DeleteService:
				f.ServiceDeleted = true
			case ReleaseAccess:
				f.AccessReleased = true
			default:
				if !a.Ends() {
					t.Fatalf("%s is not handled", a)
				}

				return
			}
		}
		t.Fatalf("the pass does not end after seven actions: %+v", f)
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
	const facts = 23
	for bits := range 1 << facts {
		n := 0
		next := func() bool { n++; return bits>>(n-1)&1 == 1 }
		state := func() RequestState { n += 2; return RequestState(bits >> (n - 2) & 3) }
		f := Facts{
			Exists: next(), Deleted: next(), HasFinalizer: next(), Paused: next(),
			MaybeCreated: next(), CreationRecorded: next(),
			ConfigRead: next(), ConfigFound: next(), ConfigUnknown: next(), Defaulted: next(), Requests: state(),
			AccessRequested: next(), Granted: next(), Denied: next(), ClusterGone: next(), NotOwned: next(),
			ServiceDeleted: next(), AccessReleased: next(),
			DeleteWhenPaused: next(), OrphanOnClusterGone: next(), OrphanWithoutConfig: next(), DeleteWithoutConfig: next(),
		}
		if n != facts {
			panic("a fact is missing")
		}
		visit(f)
	}
}

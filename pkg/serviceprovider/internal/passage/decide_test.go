package passage

import "testing"

func TestDecide(t *testing.T) {
	cases := []struct {
		reason string
		facts  Facts
		want   Action
	}{
		{"there is nothing", Facts{Paused: true, Leaving: true}, Rest},
		{"the user wants it left alone", Facts{Found: true, Paused: true}, Pause},
		{"also when it is deleted", Facts{Found: true, Paused: true, Leaving: true, Held: true}, Pause},
		{"unless an option says that deletion goes on", Facts{Found: true, Paused: true, Leaving: true, Held: true, DeletePaused: true}, Check},
		{"which is for deletion only", Facts{Found: true, Paused: true, DeletePaused: true}, Pause},

		// The service is wanted.
		{"first the configuration", Facts{Found: true}, Configure},
		{"an old hiccup does not matter", Facts{Found: true, ConfigUnknown: true}, Configure},
		{"a hiccup changes nothing", configured(Facts{ConfigUnknown: true}), AwaitConfig},
		{"there is none", Facts{Found: true, ConfigAsked: true}, NeedConfig},
		{"the policies for deletion do not matter", Facts{Found: true, ConfigAsked: true, NoConfigDelete: true, NoConfigOrphan: true}, NeedConfig},
		{"nothing is made before the object is held", configured(Facts{}), Hold},
		{"what is stored is what the domain sees", configured(Facts{Held: true}), Default},
		{"then access", configured(Facts{Held: true, Defaulted: true}), Access},
		{"an old refusal does not matter", configured(Facts{Held: true, Defaulted: true, Denied: true}), Access},
		{"denied", asked(Facts{Denied: true}), Deny},
		{"not yet", asked(Facts{}), AwaitAccess},
		{"a cluster that is gone may come back", asked(Facts{ClusterGone: true, OrphanGone: true}), AwaitAccess},
		{"all is there", asked(Facts{Granted: true}), Work},

		// The service is to go.
		{"we are done with it", Facts{Found: true, Leaving: true}, Rest},
		{"is access being taken away already?", held(Facts{}), Check},
		{"it is by the runtime before, so there is nothing left to clean, whatever the configuration", checked(Facts{Request: Leaving, Made: true}), Withdraw},
		{"somebody else has deleted a request of what was made here: access is asked for again", checked(Facts{Request: Leaving, Made: true, Record: true}), Configure},
		{"there is no request, and nothing was made: there is nothing to clean", checked(Facts{Request: Missing}), Withdraw},
		{"there is no request, but something was made: it is cleaned over access that is asked for anew", checked(Facts{Request: Missing, Made: true}), Configure},
		{"what was made goes with the request", cleaned(Facts{Request: Missing, Made: true}), AwaitAccess},
		{"nor does it go with one that is being deleted", cleaned(Facts{Request: Leaving, Made: true, Record: true}), AwaitAccess},
		{"what was made is forgotten by a policy only", cleaned(Facts{Request: Missing, Made: true, ClusterGone: true, OrphanGone: true}), Withdraw},
		{"the configuration is looked for only then", checked(Facts{}), Configure},
		{"an old hiccup does not matter", checked(Facts{ConfigUnknown: true}), Configure},
		{"a hiccup changes nothing", checked(Facts{ConfigAsked: true, ConfigUnknown: true, NoConfigOrphan: true}), AwaitConfig},
		{"there is none: wait, and say so", checked(Facts{ConfigAsked: true}), Block},
		{"there is none: forget what was made", checked(Facts{ConfigAsked: true, NoConfigOrphan: true}), Withdraw},
		{"there is none: delete without", checked(Facts{ConfigAsked: true, NoConfigDelete: true}), Access},
		{"there is one: the policies do not matter", checked(Facts{ConfigAsked: true, ConfigFound: true, NoConfigOrphan: true}), Access},
		{"the cluster is gone: wait, and say so", cleaned(Facts{ClusterGone: true}), Block},
		{"the cluster is gone: forget what was in it", cleaned(Facts{ClusterGone: true, OrphanGone: true}), Withdraw},
		{"the cluster is gone, and was denied before: what is gone counts", cleaned(Facts{ClusterGone: true, Denied: true}), Block},
		{"a request of the name is somebody else's: wait, and say so", cleaned(Facts{NotOwned: true}), Block},
		{"the same where ours is missing, whatever is done without a cluster", cleaned(Facts{Request: Missing, Made: true, NotOwned: true, OrphanGone: true}), Block},
		{"nothing was made: nothing waits for somebody else's request", checked(Facts{Request: Missing, NotOwned: true}), Withdraw},
		{"denied", cleaned(Facts{Denied: true}), Deny},
		{"not yet", cleaned(Facts{}), AwaitAccess},
		{"the domain goes first", cleaned(Facts{Granted: true}), Clean},
		{"then access is given back", cleaned(Facts{Granted: true, Cleaned: true}), Withdraw},
		{"what was cleaned needs no check", held(Facts{Cleaned: true}), Withdraw},
		{"then the object may go", cleaned(Facts{Granted: true, Cleaned: true, Withdrawn: true}), Release},
	}
	for _, tc := range cases {
		if got := Decide(tc.facts); got != tc.want {
			t.Errorf("%s: Decide(%+v) = %s, want %s", tc.reason, tc.facts, got, tc.want)
		}
	}
}

func configured(f Facts) Facts {
	f.Found, f.ConfigAsked, f.ConfigFound = true, true, true

	return f
}

func asked(f Facts) Facts {
	f = configured(f)
	f.Held, f.Defaulted, f.AccessAsked = true, true, true

	return f
}

func held(f Facts) Facts {
	f.Found, f.Leaving, f.Held = true, true, true

	return f
}

func checked(f Facts) Facts {
	f = held(f)
	if f.Request == Unchecked {
		f.Request = Asked
	}

	return f
}

func cleaned(f Facts) Facts {
	f = checked(f)
	f.ConfigAsked, f.ConfigFound, f.AccessAsked = true, true, true

	return f
}

func TestEveryActionHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Actions() {
		if a.String() == "none" || seen[a.String()] {
			t.Errorf("action %d has the name %q, which is none or taken", a, a)
		}
		seen[a.String()] = true
	}
	for _, a := range []Action{-1, none, end} {
		if got := a.String(); got != "none" {
			t.Errorf("Action(%d).String() = %q, want none", a, got)
		}
	}
}

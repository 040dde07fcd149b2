package dispatch

import "testing"

func TestDecide(t *testing.T) {
	cases := []struct {
		reason string
		facts  Facts
		want   Action
	}{
		{"what we wrote ourselves is not acted on before it shows", Facts{Stale: true, There: true, Confirmed: true}, AwaitSelf},
		{"neither here nor there", Facts{}, Rest},

		// There is no virtual object.
		{"a syncer that looks up sees whatever is there", Facts{There: true, Up: true, Foreign: true}, Up},
		{"others' objects are none of our business", Facts{There: true, Foreign: true, Confirmed: true}, Rest},
		{"others' objects are none of our business while they go, either", Facts{There: true, Foreign: true, LeavingThere: true}, Rest},
		{"while it goes there is nothing to ask", Facts{There: true, LeavingThere: true}, AwaitHost},
		{"a delete was asked for already", Facts{There: true, LeavingThere: true, Confirmed: true}, AwaitHost},
		{"absence is believed when the API server says so", Facts{There: true}, Confirm},
		{"gone", Facts{There: true, Confirmed: true}, Delete},

		// The virtual object is being deleted.
		{"nothing is made for what goes", going(Facts{}), Rest},
		{"unless asked for, as it used to be", going(Facts{Revive: true}), Down},
		{"it is kept until the end", going(Facts{There: true}), Sync},
		{"also while the host object goes", going(Facts{There: true, LeavingThere: true}), Sync},
		{"others' objects stay", going(Facts{There: true, Foreign: true, Former: true}), Rest},
		{"an old image goes, once that is sure", going(Facts{There: true, Former: true}), Confirm},
		{"an old image goes", going(Facts{There: true, Former: true, Confirmed: true}), Delete},
		{"an old image that goes already", going(Facts{There: true, Former: true, LeavingThere: true}), AwaitHost},
		{"the host object goes first, once the API server says the same", held(Facts{There: true}), Confirm},
		{"the host object goes first", held(Facts{There: true, Confirmed: true}), Delete},
		{"it takes its time", held(Facts{There: true, LeavingThere: true}), AwaitHost},
		{"it may be the image of a newer object than the cache knows", held(Facts{There: true, Former: true}), Confirm},
		{"it is gone", held(Facts{}), Release},
		{"it is gone, and is not made again", held(Facts{Revive: true}), Release},
		{"others' objects hold nobody", held(Facts{There: true, Foreign: true}), Release},
		{"an option that was switched off holds nobody", Facts{Here: true, Leaving: true, Held: true, There: true}, Release},

		// The virtual object is wanted.
		{"others' objects are left alone", Facts{Here: true, There: true, Foreign: true, Former: true, Confirmed: true}, Refuse},
		{"in silence, if asked for", Facts{Here: true, There: true, Foreign: true, Silent: true}, Overlook},
		{"an old image is in the way", Facts{Here: true, There: true, Former: true}, Confirm},
		{"an old image that goes", Facts{Here: true, There: true, Former: true, LeavingThere: true}, AwaitHost},
		{"an old image makes room", Facts{Here: true, There: true, Former: true, Confirmed: true}, Delete},
		{"an old image makes room before the new object is held", Facts{Here: true, There: true, Former: true, Confirmed: true, HostFirst: true}, Delete},
		{"before anything is made, it is held", Facts{Here: true, HostFirst: true}, Hold},
		{"so it is if the option came later", Facts{Here: true, There: true, HostFirst: true}, Hold},
		{"what is refused is not held", Facts{Here: true, There: true, Foreign: true, HostFirst: true}, Refuse},
		{"an option that was switched off leaves no finalizer", Facts{Here: true, There: true, Held: true}, Release},
		{"an option that was switched off leaves no finalizer, once the name is free", Facts{Here: true, There: true, Foreign: true, Held: true}, Refuse},
		{"both", Facts{Here: true, There: true}, Sync},
		{"both, held", Facts{Here: true, There: true, HostFirst: true, Held: true}, Sync},
		{"missing there", Facts{Here: true}, Down},
	}
	if len(cases) > 40 {
		t.Errorf("%d rows: a table of more than 40 is not read", len(cases))
	}
	for _, tc := range cases {
		if got := Decide(tc.facts); got != tc.want {
			t.Errorf("%s: Decide(%+v) = %s, want %s", tc.reason, tc.facts, got, tc.want)
		}
	}
}

func going(f Facts) Facts {
	f.Here, f.Leaving = true, true
	return f
}

func held(f Facts) Facts {
	f = going(f)
	f.Held, f.HostFirst = true, true
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
	if got := Action(-1).String(); got != "none" {
		t.Errorf("Action(-1).String() = %q, want none", got)
	}
}

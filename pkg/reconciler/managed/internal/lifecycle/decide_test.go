package lifecycle

import "testing"

var everything = Permissions{Create: true, Update: true, Delete: true}

type row struct {
	reason string
	facts  Facts
	want   Action
}

func decides(t *testing.T, rows []row) {
	t.Helper()
	if len(rows) > 40 {
		t.Errorf("%d rows: a table of more than 40 is not read", len(rows))
	}
	for _, tc := range rows {
		if got := Decide(tc.facts); got != tc.want {
			t.Errorf("%s: Decide(%+v) = %s, want %s", tc.reason, tc.facts, got, tc.want)
		}
	}
}

func TestDecideBeforeLooking(t *testing.T) {
	decides(t, []row{
		// Before anybody is asked.
		{"pause outranks everything", Facts{Paused: true, Invalid: true, Deleted: true}, Pause},
		{"what is not understood is not acted on, not even to let the object go", Facts{Invalid: true, Deleted: true, Held: true}, Reject},
		{"but what is not ours goes without being understood", Facts{Invalid: true, Deleted: true}, Rest},
		{"without our finalizer there is nothing left to do", Facts{Deleted: true}, Rest},
		{"a policy that forbids to delete needs no look outside", Facts{Deleted: true, Held: true}, Orphan},
		{"a deleted object that we do not hold is looked at by nobody", Facts{Deleted: true, May: everything}, Rest},
		{"first look, then decide: old knowledge counts for nothing", Facts{Deleted: true, Held: true, May: everything, Exists: true, Stranger: true}, Observe},
		{"first look, also at what is wanted", Facts{May: everything}, Observe},
	})
}

func TestDecideForDeletedObjects(t *testing.T) {
	decides(t, []row{
		{"a stranger's resource stays, whoever else waits", departing(Facts{Exists: true, Stranger: true, Awaited: true}), Release},
		{"a stranger's resource resolves nothing", departing(Facts{Exists: true, Stranger: true, Resolves: true}), Release},
		{"a stranger's resource may be ours without its mark", departing(Facts{Exists: true, Stranger: true, Unresolved: true}), Refuse},
		{"not under a name we chose", departing(Facts{Exists: true, Stranger: true, Unresolved: true, Class: Named}), Release},
		{"what was created is known before others are waited for", departing(Facts{Exists: true, Resolves: true, Unresolved: true, Awaited: true}), Claim},
		{"what is gone resolves nothing", departing(Facts{Resolves: true, Unresolved: true}), Refuse},
		{"others are done first, although a delete was sent", departing(Facts{Exists: true, Awaited: true, DeleteSent: true}), AwaitFinalizers},
		{"others are done first, also while nothing shows yet", departing(Facts{Settling: true, NameKnown: true, Awaited: true}), AwaitFinalizers},
		{"and while nobody has seen what was created", departing(Facts{Unseen: true, Awaited: true}), AwaitFinalizers},
		{"others do not matter once the resource is gone", departing(Facts{Awaited: true}), Finalize},
		{"one delete is enough for a while", departing(Facts{Exists: true, DeleteSent: true}), AwaitGone},
		{"what exists is deleted", departing(Facts{Exists: true}), Delete},
		{"what may not show yet is deleted by its name", departing(Facts{Settling: true, Unseen: true, NameKnown: true}), Delete},
		{"also when the window is over, if it was never seen", departing(Facts{Unseen: true, NameKnown: true}), Delete},
		{"after that, absence is believed when the window is over", departing(Facts{Settling: true, Unseen: true, NameKnown: true, DeleteSent: true}), AwaitGone},
		{"what was seen before is gone when our delete says so", departing(Facts{Settling: true, NameKnown: true, DeleteSent: true}), Finalize},
		{"without a name only time can tell", departing(Facts{Settling: true, Unseen: true, Unresolved: true}), AwaitGone},
		{"nobody knows what to delete", departing(Facts{Unresolved: true}), Refuse},
		{"a name we chose answers the question", departing(Facts{Unresolved: true, Class: Named}), Finalize},
		{"gone", departing(Facts{}), Finalize},
		{"absence is not believed at once", departing(Facts{Searching: true, Unresolved: true}), AwaitGone},
		{"creating again with the same token tells what there is to delete", departing(Facts{Unresolved: true, Class: Token}), Create},
		{"that is no reason to create against the policy", without(departing(Facts{Unresolved: true, Class: Token}), Permissions{Delete: true}), Refuse},
		{"one create per pass", departing(Facts{Unresolved: true, Class: Token, Acted: true}), Refuse},
		{"what was just created again is deleted in the next pass", departing(Facts{Exists: true, Acted: true}), AwaitGone},
		{"also if it does not show yet", departing(Facts{Settling: true, Unseen: true, NameKnown: true, Acted: true}), AwaitGone},
		{"and if it was seen before", departing(Facts{Settling: true, NameKnown: true, Acted: true}), Finalize},
	})
}

func TestDecideForWantedObjects(t *testing.T) {
	decides(t, []row{
		// The object is wanted and the resource exists.
		{"a stranger's resource is not claimed", living(Facts{Exists: true, Stranger: true}), Disown},
		{"a stranger's resource is left alone, however well it fits", living(Facts{Exists: true, Stranger: true, Held: true, UpToDate: true}), Disown},
		{"what exists is claimed before all else", living(Facts{Exists: true, UpToDate: true}), Claim},
		{"what was learned is stored", living(Facts{Exists: true, Held: true, Learned: true, UpToDate: true}), Claim},
		{"a Secret is filled before all is well", living(Facts{Exists: true, Held: true, UpToDate: true, Unpublished: true}), Publish},
		{"and before a difference is corrected, which may fail", living(Facts{Exists: true, Held: true, Unpublished: true}), Publish},
		{"as desired", living(Facts{Exists: true, Held: true, UpToDate: true, Acted: true}), Keep},
		{"one change per pass", without(living(Facts{Exists: true, Held: true, Acted: true}), Permissions{}), AwaitEffect},
		{"a difference the policy wants left alone", without(living(Facts{Exists: true, Held: true}), Permissions{Create: true, Delete: true}), Tolerate},
		{"a difference", living(Facts{Exists: true, Held: true, Settling: true}), Update},

		// The object is wanted and the resource does not exist.
		{"absence is not believed yet", living(Facts{Settling: true, Unresolved: true}), AwaitExistence},
		{"one create per pass, also without a window", living(Facts{Acted: true}), AwaitExistence},
		{"a create whose result is unknown is not repeated", without(living(Facts{Unresolved: true}), Permissions{}), Refuse},
		{"a create whose result was never seen is not repeated because time passed", living(Facts{Unseen: true}), Refuse},
		{"a create under a name we chose is", living(Facts{Unresolved: true, Unseen: true, Class: Named}), Create},
		{"missing, and to stay so", without(living(Facts{}), Permissions{Update: true}), ReportMissing},
		{"missing", living(Facts{}), Create},
		{"a lookup that found nothing may be too early", living(Facts{Searching: true, Unresolved: true, Class: Findable}), AwaitExistence},
		{"what is being searched for is not created", living(Facts{Searching: true}), AwaitExistence},
		{"a create with the same token is repeated", living(Facts{Unresolved: true, Unseen: true, Class: Token}), Create},
	})
}

func departing(f Facts) Facts {
	f.Deleted, f.Held, f.Observed, f.May = true, true, true, everything
	return f
}

func living(f Facts) Facts {
	f.Observed, f.May = true, everything
	return f
}

func without(f Facts, may Permissions) Facts {
	f.May = may
	return f
}

func TestStranger(t *testing.T) {
	const taken = true
	cases := []struct {
		reason           string
		owner            Owner
		claimed, matches bool
		ours             [5]bool // unsaid, never, unowned, matching, force
	}{
		{"a system without marks cannot tell: the name decides, unless the policy says more", OwnerUnknown, false, false, [5]bool{taken, false, taken, false, taken}},
		{"what is as desired already may be taken", OwnerUnknown, false, true, [5]bool{taken, false, taken, taken, taken}},
		{"what was claimed is ours", OwnerUnknown, true, false, [5]bool{taken, taken, taken, taken, taken}},
		{"ours is ours", OwnerOurs, false, false, [5]bool{taken, taken, taken, taken, taken}},
		{"nobody's is left alone, unless the policy says more", OwnerNobody, false, false, [5]bool{false, false, taken, false, taken}},
		{"nobody's that is as desired", OwnerNobody, false, true, [5]bool{false, false, taken, taken, taken}},
		{"nobody's is ours if we claimed it before", OwnerNobody, true, false, [5]bool{taken, taken, taken, taken, taken}},
		{"another's is never ours, unless by force", OwnerOther, true, true, [5]bool{false, false, false, false, taken}},
		{"what is not understood is not ours", Owner(17), true, true, [5]bool{}},
	}
	for _, tc := range cases {
		for policy, ours := range tc.ours {
			if got := Stranger(tc.owner, tc.claimed, Adoption(policy), tc.matches); got == ours {
				t.Errorf("%s: Stranger(%d, %t, %d, %t) = %t", tc.reason, tc.owner, tc.claimed, policy, tc.matches, got)
			}
		}
	}
}

// A mark of a claim never makes a stranger of what is none without it, so that it need not
// be read then.
func TestNoClaimMakesAStranger(t *testing.T) {
	for owner := range OwnerOther + 2 {
		for policy := range AdoptForce + 1 {
			for _, matches := range []bool{false, true} {
				if Stranger(owner, true, policy, matches) && !Stranger(owner, false, policy, matches) {
					t.Errorf("Stranger(%d, %d, %t) with a claim alone", owner, policy, matches)
				}
			}
		}
	}
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

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
		{"what is not understood is not acted on, not even to let the object go",
			Facts{Invalid: true, Deleted: true, HasFinalizer: true}, Reject},
		{"but what is not ours goes without being understood", Facts{Invalid: true, Deleted: true}, Ignore},
		{"without our finalizer there is nothing left to do", Facts{Deleted: true}, Ignore},
		{"a policy that forbids to delete needs no look outside", Facts{Deleted: true, HasFinalizer: true}, Orphan},
		{"a deleted object that we do not hold is looked at by nobody", Facts{Deleted: true, May: everything}, Ignore},
		{"first look, then decide: old knowledge counts for nothing", Facts{
			Deleted: true, HasFinalizer: true, May: everything, UpToDate: true, Ownership: Foreign,
		}, Observe},
		{"first look, also at what is wanted", Facts{May: everything}, Observe},
		{"first look, also if all was well", Facts{HasFinalizer: true, UpToDate: true, May: everything}, Observe},
		{"a list that shows that all is well is believed",
			Facts{Presence: Listed, HasFinalizer: true, UpToDate: true}, ConfirmListed},
		{"one that shows anything else is not", Facts{Presence: Listed, HasFinalizer: true, May: everything},
			ObserveAlone},
		{"nor one of a deleted object",
			Facts{Presence: Listed, Deleted: true, HasFinalizer: true, UpToDate: true, May: everything}, ObserveAlone},
	})
}

func TestDecideForDeletedObjects(t *testing.T) {
	decides(t, []row{
		{"a stranger's resource stays, whoever else waits",
			departing(Facts{Presence: Present, Ownership: Foreign, ForeignFinalizers: true}), Abandon},
		{"a stranger's resource resolves nothing",
			departing(Facts{Presence: Present, Ownership: Foreign, SettlesCreate: true}), Abandon},
		{"a stranger's resource may be ours without its mark",
			departing(Facts{Presence: Present, Ownership: Foreign, Attempt: Unknown}), Refuse},
		{"not under a name we chose", departing(Facts{
			Presence: Present, Ownership: Foreign, Attempt: Unknown, Class: Named,
		}), Abandon},
		{"what another runtime created since would be left", departing(Facts{
			Presence: Present, Ownership: Foreign, Attempt: Superseded, Class: Named,
			Doubt: Unconfirmed,
		}), Refuse},
		{"that ours is another's now is not believed at once", departing(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, ForeignFinalizers: true,
		}), AwaitGone},
		{"nor under a name we chose", departing(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, Class: Named,
		}), AwaitGone},
		{"and if nobody can tell, it is not waited for", departing(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, Attempt: Unknown,
		}), Refuse},
		{"that it is ours needs no second look", departing(Facts{Presence: Present, Doubt: Unconfirmed}), Delete},
		{"what was created is known before others are waited for", departing(Facts{
			Presence: Present, SettlesCreate: true, Attempt: Unknown, ForeignFinalizers: true,
		}), PersistOwnership},
		{"what is gone resolves nothing", departing(Facts{SettlesCreate: true, Attempt: Unknown}), Refuse},
		{"others are done first, although a delete was sent",
			departing(Facts{Presence: Present, ForeignFinalizers: true, DeleteSent: true}), AwaitFinalizers},
		{"others are done first, also while nothing shows yet",
			departing(Facts{Doubt: Grace, NameKnown: true, ForeignFinalizers: true}), AwaitFinalizers},
		{"and while nobody has seen what was created",
			departing(Facts{Attempt: CreatedUnobserved, ForeignFinalizers: true}),
			AwaitFinalizers},
		{"others do not matter once the resource is gone", departing(Facts{ForeignFinalizers: true}), RemoveFinalizer},
		{"one delete is enough for a while", departing(Facts{Presence: Present, DeleteSent: true}), AwaitGone},
		{"what exists is deleted", departing(Facts{Presence: Present}), Delete},
		{"what may not show yet is deleted by its name",
			departing(Facts{Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true}), Delete},
		{"also when the window is over, if it was never seen",
			departing(Facts{Attempt: CreatedUnobserved, NameKnown: true}),
			Delete},
		{"after that, absence is believed when the window is over", departing(Facts{
			Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true, DeleteSent: true,
		}), AwaitGone},
		{"what was seen before is gone when our delete says so",
			departing(Facts{Doubt: Grace, NameKnown: true, DeleteSent: true}), RemoveFinalizer},
		{"without a name only time can tell", departing(Facts{Doubt: Grace, Attempt: CreatedUnobserved}), AwaitGone},
		{"also if it was seen before", departing(Facts{Doubt: Grace}), AwaitGone},
		{"one delete for what was not seen", departing(Facts{
			Attempt: CreatedUnobserved, NameKnown: true, DeleteSent: true,
		}),
			RemoveFinalizer},
		{"nobody knows what to delete", departing(Facts{Attempt: Unknown}), Refuse},
		{"nor under which name", departing(Facts{Attempt: CreatedUnobserved}), Refuse},
		{"creating again with the same token tells the name, too",
			departing(Facts{Attempt: CreatedUnobserved, Class: Token}),
			Create},
		{"a name we chose answers the question", departing(Facts{Attempt: Unknown, Class: Named}), RemoveFinalizer},
		{"gone", departing(Facts{}), RemoveFinalizer},
		{"absence is not believed at once", departing(Facts{Doubt: Unconfirmed, Attempt: Unknown}), AwaitGone},
		{"creating again with the same token tells what there is to delete",
			departing(Facts{Attempt: Unknown, Class: Token}), Create},
		{"that is no reason to create against the policy",
			without(departing(Facts{Attempt: Unknown, Class: Token}), Permissions{Delete: true}), Refuse},
		{"one create per pass", departing(Facts{Attempt: Unknown, Class: Token, Mutated: true}), Refuse},
		{"what was just created again is deleted in the next pass", departing(Facts{Presence: Present, Mutated: true}),
			AwaitGone},
		{"also if it does not show yet", departing(Facts{Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true,
			Mutated: true}), AwaitGone},
		{"and if it was seen before", departing(Facts{Doubt: Grace, NameKnown: true, Mutated: true}), RemoveFinalizer},
		{"what a replace took the record of is deleted, too",
			departing(Facts{Attempt: Replaced, NameKnown: true, ForeignFinalizers: true}), RestoreRecord},
		{"what it named goes first, if that exists",
			departing(Facts{Attempt: Replaced, NameKnown: true, Presence: Present}), Delete},
		{"what another runtime created since is not left without a word", departing(Facts{
			Attempt: Superseded, NameKnown: true, Class: Named, ForeignFinalizers: true,
		}), Refuse},
		{"absence of what it named is not believed at once",
			departing(Facts{Attempt: Replaced, NameKnown: true, Doubt: Unconfirmed}), AwaitGone},
	})
}

func TestDecideForWantedObjects(t *testing.T) {
	decides(t, []row{
		// The object is wanted and the resource exists.
		{"a stranger's resource is not claimed", living(Facts{Presence: Present, Ownership: Foreign}), ReportNotOwned},
		{"a stranger's resource is left alone, however well it fits", living(Facts{
			Presence: Present, Ownership: Foreign, HasFinalizer: true, UpToDate: true,
		}), ReportNotOwned},
		{"what exists is claimed before all else", living(Facts{Presence: Present, UpToDate: true}), PersistOwnership},
		{"what was learned is stored", living(Facts{
			Presence: Present, HasFinalizer: true, Dirty: true, UpToDate: true,
		}), PersistOwnership},
		{"a Secret is filled before all is well", living(Facts{
			Presence: Present, HasFinalizer: true, UpToDate: true, Unpublished: true,
		}), Publish},
		{"and before a difference is corrected, which may fail",
			living(Facts{Presence: Present, HasFinalizer: true, Unpublished: true}), Publish},
		{"as desired", living(Facts{Presence: Present, HasFinalizer: true, UpToDate: true, Mutated: true}), Keep},
		{"one change per pass", without(living(Facts{Presence: Present, HasFinalizer: true, Mutated: true}),
			Permissions{}),
			AwaitEffect},
		{"a difference the policy wants left alone",
			without(living(Facts{Presence: Present, HasFinalizer: true}), Permissions{Create: true, Delete: true}),
			Tolerate},
		{"a difference", living(Facts{Presence: Present, HasFinalizer: true, Doubt: Grace}), Update},

		// The object is wanted and the resource does not exist.
		{"absence is not believed yet", living(Facts{Doubt: Grace, Attempt: Unknown}), AwaitExistence},
		{"one create per pass, also without a window", living(Facts{Mutated: true}), AwaitExistence},
		{"a create whose result is unknown is not repeated", without(living(Facts{Attempt: Unknown}), Permissions{}),
			Refuse},
		{"a create whose result was never seen is not repeated because time passed",
			living(Facts{Attempt: CreatedUnobserved}),
			Refuse},
		{"a create under a name we chose is", living(Facts{Attempt: Unknown, Class: Named}), Create},
		{"also when its result was never seen", living(Facts{Attempt: CreatedUnobserved, Class: Named}), Create},
		{"missing, and to stay so", without(living(Facts{}), Permissions{Update: true}), ReportMissing},
		{"missing", living(Facts{}), Create},
		{"a replace that names what is missing makes no other", living(Facts{Attempt: Replaced, Class: Token}),
			RestoreRecord},
		{"nor does it need to be put back where nothing may be made",
			without(living(Facts{Attempt: Replaced}), Permissions{Update: true}), ReportMissing},
		{"what a replace names may be missed once", living(Facts{Attempt: Replaced, Doubt: Unconfirmed}),
			AwaitExistence},
		{"and is claimed if it exists", living(Facts{Attempt: Replaced, Presence: Present}), PersistOwnership},
		{"what another runtime created since is not created again", living(Facts{Attempt: Superseded, Class: Token}),
			Refuse},
		{"once nothing of ours is believed to be there", living(Facts{Attempt: Superseded, Doubt: Unconfirmed}),
			AwaitExistence},
		{"a lookup that found nothing may be too early",
			living(Facts{Doubt: Unconfirmed, Attempt: Unknown, Class: Findable}), AwaitExistence},
		{"what is being searched for is not created", living(Facts{Doubt: Unconfirmed}), AwaitExistence},
		{"a create with the same token is repeated", living(Facts{Attempt: Unknown, Class: Token}), Create},
		{"also when its result was never seen", living(Facts{Attempt: CreatedUnobserved, Class: Token}), Create},
	})
}

func departing(f Facts) Facts {
	f.Deleted, f.HasFinalizer, f.Presence, f.May = true, true, max(f.Presence, Absent), everything
	return f
}

func living(f Facts) Facts {
	f.Presence, f.May = max(f.Presence, Absent), everything
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
		{"a system without marks cannot tell: the name decides, unless the policy says more", OwnerUnknown, false,
			false, [5]bool{taken, false, taken, false, taken}},
		{"what is as desired already may be taken", OwnerUnknown, false, true,
			[5]bool{taken, false, taken, taken, taken}},
		{"what was claimed is ours", OwnerUnknown, true, false, [5]bool{taken, taken, taken, taken, taken}},
		{"ours is ours", OwnerOurs, false, false, [5]bool{taken, taken, taken, taken, taken}},
		{"nobody's is left alone, unless the policy says more", OwnerNobody, false, false,
			[5]bool{false, false, taken, false, taken}},
		{"nobody's that is as desired", OwnerNobody, false, true, [5]bool{false, false, taken, taken, taken}},
		{"nobody's is ours if we claimed it before", OwnerNobody, true, false,
			[5]bool{taken, taken, taken, taken, taken}},
		{"another's is never ours, unless by force", OwnerOther, true, true,
			[5]bool{false, false, false, false, taken}},
		{"what is not understood is not ours", Owner(17), true, true, [5]bool{}},
	}
	for _, tc := range cases {
		for policy, ours := range tc.ours {
			if got := NotOwned(tc.owner, tc.claimed, Adoption(policy), tc.matches); got == ours {
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
				if NotOwned(owner, true, policy, matches) && !NotOwned(owner, false, policy, matches) {
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

package lifecycle

import "testing"

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

func TestDecideBeforeAnObservation(t *testing.T) {
	decides(t, []row{
		{"a deleted object is observed first: earlier facts about the resource do not count", Facts{
			Object: Deleted, MayCreate: true, MayUpdate: true, UpToDate: true, Ownership: Foreign,
		}, Observe},
		{"an object is observed first", Facts{MayCreate: true, MayUpdate: true}, Observe},
		{"also one that was as desired",
			Facts{Object: HasFinalizer, UpToDate: true, MayCreate: true, MayUpdate: true}, Observe},
		{"an incomplete list is awaited, also if the object was as desired",
			Facts{Presence: ListIncomplete, Object: HasFinalizer, UpToDate: true}, AwaitList},
		{"also for a deleted object", Facts{Presence: ListIncomplete, Object: Deleted}, AwaitList},
		{"a list item that shows the desired state is used",
			Facts{Presence: Listed, Object: HasFinalizer, UpToDate: true}, ConfirmListed},
		{"an item that shows anything else is not",
			Facts{Presence: Listed, Object: HasFinalizer, MayCreate: true, MayUpdate: true}, ObserveAlone},
		{"nor is one of a deleted object",
			Facts{Presence: Listed, Object: Deleted, UpToDate: true, MayCreate: true, MayUpdate: true}, ObserveAlone},
	})
}

func TestDecideForDeletedObjects(t *testing.T) {
	decides(t, []row{
		{"a resource of another owner stays, whatever finalizers are left",
			deletedObject(Facts{Presence: Present, Ownership: Foreign, ForeignFinalizers: true}), Abandon},
		{"a resource of another owner does not settle a create",
			deletedObject(Facts{Presence: Present, Ownership: Foreign, Metadata: SettlesCreate}), Abandon},
		{"a resource of another owner may be ours without its mark, if a create may have succeeded",
			deletedObject(Facts{Presence: Present, Ownership: Foreign, Attempt: Unknown}), AskUser},
		{"not under a name that the provider chose", deletedObject(Facts{
			Presence: Present, Ownership: Foreign, Attempt: Unknown, Class: Named,
		}), Abandon},
		{"what another runtime has created since would be left over", deletedObject(Facts{
			Presence: Present, Ownership: Foreign, Attempt: Superseded, Class: Named,
			Doubt: Unconfirmed,
		}), AskUser},
		{"that our resource has another owner now has to be confirmed", deletedObject(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, ForeignFinalizers: true,
		}), AwaitGone},
		{"also under a name that the provider chose", deletedObject(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, Class: Named,
		}), AwaitGone},
		{"an unknown result of a create is not waited for", deletedObject(Facts{
			Presence: Present, Ownership: Foreign, Doubt: Unconfirmed, Attempt: Unknown,
		}), AskUser},
		{"a resource of ours needs no confirmation",
			deletedObject(Facts{Presence: Present, Doubt: Unconfirmed}), Delete},
		{"the name of a created resource is stored before other finalizers are waited for", deletedObject(Facts{
			Presence: Present, Metadata: SettlesCreate, Attempt: Unknown, ForeignFinalizers: true,
		}), PersistOwnership},
		{"an absent resource does not settle a create",
			deletedObject(Facts{Metadata: SettlesCreate, Attempt: Unknown}), AskUser},
		{"other finalizers come first, also after a delete",
			deletedObject(Facts{Presence: Present, ForeignFinalizers: true, Change: DeleteSent}), AwaitFinalizers},
		{"other finalizers come first, also in the grace period of a creation",
			deletedObject(Facts{Doubt: Grace, NameKnown: true, ForeignFinalizers: true}), AwaitFinalizers},
		{"and while the result of a create was never observed",
			deletedObject(Facts{Attempt: CreatedUnobserved, ForeignFinalizers: true}),
			AwaitFinalizers},
		{"other finalizers do not matter once the resource is gone",
			deletedObject(Facts{ForeignFinalizers: true}), RemoveFinalizer},
		{"a delete is not repeated at once", deletedObject(Facts{Presence: Present, Change: DeleteSent}), AwaitGone},
		{"a resource that exists is deleted", deletedObject(Facts{Presence: Present}), Delete},
		{"a resource that may appear is deleted by its name",
			deletedObject(Facts{Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true}), Delete},
		{"also after the grace period, if it was never observed",
			deletedObject(Facts{Attempt: CreatedUnobserved, NameKnown: true}),
			Delete},
		{"after that delete, its absence is confirmed when the grace period is over", deletedObject(Facts{
			Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true, Change: DeleteSent,
		}), AwaitGone},
		{"a resource that was observed before is gone once the delete was accepted",
			deletedObject(Facts{Doubt: Grace, NameKnown: true, Change: DeleteSent}), RemoveFinalizer},
		{"without a name the grace period has to pass",
			deletedObject(Facts{Doubt: Grace, Attempt: CreatedUnobserved}), AwaitGone},
		{"also if the resource was observed before", deletedObject(Facts{Doubt: Grace}), AwaitGone},
		{"a resource that was never observed is deleted once", deletedObject(Facts{
			Attempt: CreatedUnobserved, NameKnown: true, Change: DeleteSent,
		}),
			RemoveFinalizer},
		{"a create with an unknown result leaves nothing to delete by name",
			deletedObject(Facts{Attempt: Unknown}), AskUser},
		{"nor does one whose name is not stored", deletedObject(Facts{Attempt: CreatedUnobserved}), AskUser},
		{"repeating the create with its token returns the name",
			deletedObject(Facts{Attempt: CreatedUnobserved, Class: Token}),
			Create},
		{"a name that the provider chose is known to be absent",
			deletedObject(Facts{Attempt: Unknown, Class: Named}), RemoveFinalizer},
		{"the resource is gone", deletedObject(Facts{}), RemoveFinalizer},
		{"absence has to be confirmed", deletedObject(Facts{Doubt: Unconfirmed, Attempt: Unknown}), AwaitGone},
		{"repeating the create with its token returns what has to be deleted",
			deletedObject(Facts{Attempt: Unknown, Class: Token}), Create},
		{"not against the policy",
			without(deletedObject(Facts{Attempt: Unknown, Class: Token}), Permissions{Delete: true}), AskUser},
		{"and only one change per pass",
			deletedObject(Facts{Attempt: Unknown, Class: Token, Change: Mutated}), AskUser},
		{"a resource that this pass has created is deleted in the next one",
			deletedObject(Facts{Presence: Present, Change: Mutated}),
			AwaitGone},
		{"also if it was not found yet",
			deletedObject(Facts{Doubt: Grace, Attempt: CreatedUnobserved, NameKnown: true,
				Change: Mutated}), AwaitGone},
		{"a resource that was observed before is gone after a change of this pass",
			deletedObject(Facts{Doubt: Grace, NameKnown: true, Change: Mutated}), RemoveFinalizer},
		{"a record that a replace removed is restored, so that its resource is deleted",
			deletedObject(Facts{Attempt: Replaced, NameKnown: true, ForeignFinalizers: true}), RestoreRecord},
		{"the resource that the replace named is deleted first, if it exists",
			deletedObject(Facts{Attempt: Replaced, NameKnown: true, Presence: Present}), Delete},
		{"a user is asked about what another runtime has created since", deletedObject(Facts{
			Attempt: Superseded, NameKnown: true, Class: Named, ForeignFinalizers: true,
		}), AskUser},
		{"the absence of what the replace named has to be confirmed",
			deletedObject(Facts{Attempt: Replaced, NameKnown: true, Doubt: Unconfirmed}), AwaitGone},
	})
}

func TestDecideForWantedObjects(t *testing.T) {
	decides(t, []row{
		// The object is wanted and the resource exists.
		{"a resource of another owner is not adopted",
			wantedObject(Facts{Presence: Present, Ownership: Foreign}), ReportNotOwned},
		{"even if it is as desired", wantedObject(Facts{
			Presence: Present, Ownership: Foreign, Object: HasFinalizer, UpToDate: true,
		}), ReportNotOwned},
		{"the finalizer is stored before anything else",
			wantedObject(Facts{Presence: Present, UpToDate: true}), PersistOwnership},
		{"metadata that Observe found are stored", wantedObject(Facts{
			Presence: Present, Object: HasFinalizer, Metadata: Dirty, UpToDate: true,
		}), PersistOwnership},
		{"connection details are published before the object is reported as desired", wantedObject(Facts{
			Presence: Present, Object: HasFinalizer, UpToDate: true, Unpublished: true,
		}), Publish},
		{"and before an update, which may fail",
			wantedObject(Facts{Presence: Present, Object: HasFinalizer, Unpublished: true}), Publish},
		{"the resource is as desired",
			wantedObject(Facts{Presence: Present, Object: HasFinalizer, UpToDate: true, Change: Mutated}), Keep},
		{"one change per pass", without(wantedObject(Facts{Presence: Present, Object: HasFinalizer, Change: Mutated}),
			Permissions{}),
			AwaitEffect},
		{"a difference that the policy does not allow to correct",
			without(wantedObject(Facts{Presence: Present, Object: HasFinalizer}), Permissions{Create: true, Delete: true}),
			Tolerate},
		{"a difference", wantedObject(Facts{Presence: Present, Object: HasFinalizer, Doubt: Grace}), Update},

		// The object is wanted and the resource does not exist.
		{"absence in the grace period is not certain",
			wantedObject(Facts{Doubt: Grace, Attempt: Unknown}), AwaitExistence},
		{"one create per pass, also without a grace period", wantedObject(Facts{Change: Mutated}), AwaitExistence},
		{"a create whose result is unknown is not repeated",
			without(wantedObject(Facts{Attempt: Unknown}), Permissions{}),
			AskUser},
		{"nor is one whose result was never observed, however long ago",
			wantedObject(Facts{Attempt: CreatedUnobserved}),
			AskUser},
		{"a create under a name that the provider chose is repeated",
			wantedObject(Facts{Attempt: Unknown, Class: Named}), Create},
		{"also if its result was never observed",
			wantedObject(Facts{Attempt: CreatedUnobserved, Class: Named}), Create},
		{"a missing resource that the policy does not allow to create",
			without(wantedObject(Facts{}), Permissions{Update: true}), ReportMissing},
		{"a missing resource", wantedObject(Facts{}), Create},
		{"a replace with the name of a missing resource creates no other",
			wantedObject(Facts{Attempt: Replaced, Class: Token}),
			RestoreRecord},
		{"nor is the record restored where the policy does not allow Create",
			without(wantedObject(Facts{Attempt: Replaced}), Permissions{Update: true}), ReportMissing},
		{"the absence of what a replace names has to be confirmed",
			wantedObject(Facts{Attempt: Replaced, Doubt: Unconfirmed}),
			AwaitExistence},
		{"and it is claimed if it exists",
			wantedObject(Facts{Attempt: Replaced, Presence: Present}), PersistOwnership},
		{"nothing is created beside what another runtime has created since",
			wantedObject(Facts{Attempt: Superseded, Class: Token}),
			AskUser},
		{"once the absence of ours is confirmed", wantedObject(Facts{Attempt: Superseded, Doubt: Unconfirmed}),
			AwaitExistence},
		{"a lookup that found nothing may have been too early",
			wantedObject(Facts{Doubt: Unconfirmed, Attempt: Unknown, Class: Findable}), AwaitExistence},
		{"nothing is created before an absence is confirmed",
			wantedObject(Facts{Doubt: Unconfirmed}), AwaitExistence},
		{"a create with the same token is repeated", wantedObject(Facts{Attempt: Unknown, Class: Token}), Create},
		{"also if its result was never observed",
			wantedObject(Facts{Attempt: CreatedUnobserved, Class: Token}), Create},
	})
}

func deletedObject(f Facts) Facts {
	f.Object, f.Presence, f.MayCreate, f.MayUpdate = Deleted, max(f.Presence, Absent), true, true
	return f
}

func wantedObject(f Facts) Facts {
	f.Presence, f.MayCreate, f.MayUpdate = max(f.Presence, Absent), true, true
	return f
}

func without(f Facts, may Permissions) Facts {
	f.MayCreate, f.MayUpdate = may.Create, may.Update
	return f
}

func TestNotOwned(t *testing.T) {
	const adopted = true
	cases := []struct {
		reason           string
		owner            Owner
		claimed, matches bool
		ours             [5]bool // no policy, never, if-unowned, if-matching, force
	}{
		{"a system without marks: the name decides, unless the policy says more", OwnerUnknown, false,
			false, [5]bool{adopted, false, adopted, false, adopted}},
		{"a resource that is as desired may be adopted", OwnerUnknown, false, true,
			[5]bool{adopted, false, adopted, adopted, adopted}},
		{"a resource that was claimed is ours",
			OwnerUnknown, true, false, [5]bool{adopted, adopted, adopted, adopted, adopted}},
		{"a resource of ours is ours", OwnerOurs, false, false, [5]bool{adopted, adopted, adopted, adopted, adopted}},
		{"a resource without an owner is not adopted, unless the policy says so", OwnerNone, false, false,
			[5]bool{false, false, adopted, false, adopted}},
		{"a resource without an owner that is as desired",
			OwnerNone, false, true, [5]bool{false, false, adopted, adopted, adopted}},
		{"a resource without an owner is ours if it was claimed before", OwnerNone, true, false,
			[5]bool{adopted, adopted, adopted, adopted, adopted}},
		{"a resource of another owner is not ours, unless by force", OwnerOther, true, true,
			[5]bool{false, false, false, false, adopted}},
		{"an unknown owner is not us", Owner(17), true, true, [5]bool{}},
	}
	for _, tc := range cases {
		for policy, ours := range tc.ours {
			if got := NotOwned(tc.owner, tc.claimed, Adoption(policy), tc.matches); got == ours {
				t.Errorf("%s: NotOwned(%d, %t, %d, %t) = %t", tc.reason, tc.owner, tc.claimed, policy, tc.matches, got)
			}
		}
	}
}

// TestAClaimMakesNothingForeign verifies that a resource that is ours without a claim is ours with one, so that the
// claim need not be read then.
func TestAClaimMakesNothingForeign(t *testing.T) {
	for owner := range OwnerOther + 2 {
		for policy := range AdoptForce + 1 {
			for _, matches := range []bool{false, true} {
				if NotOwned(owner, true, policy, matches) && !NotOwned(owner, false, policy, matches) {
					t.Errorf("NotOwned(%d, %d, %t) with a claim alone", owner, policy, matches)
				}
			}
		}
	}
}

func TestEveryActionHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Actions() {
		if a.String() == "none" || seen[a.String()] {
			t.Errorf("action %d has the name %q, which is none or not its own", a, a)
		}
		seen[a.String()] = true
	}
	if got := Action(-1).String(); got != "none" {
		t.Errorf("Action(-1).String() = %q, want none", got)
	}
}

package lifecycle

import "testing"

// TestDecide checks each rule of the decision, with a reason per case.
func TestDecide(t *testing.T) {
	cases := []struct {
		reason string
		facts  Facts
		want   Action
	}{
		{
			"a pass waits until the caches contain its own writes", Facts{Stale: true, HostExists: true, Confirmed: true},
			AwaitCache,
		},
		{"neither object exists", Facts{}, Nothing},

		// There is no virtual object.
		{"an UpSyncer sees any host object", Facts{HostExists: true, WantsSyncUp: true, Foreign: true}, SyncUp},
		{"a foreign object is left alone", Facts{HostExists: true, Foreign: true, Confirmed: true}, Nothing},
		{
			"a foreign object that is being deleted is left alone", Facts{HostExists: true, Foreign: true, HostDeleted: true},
			Nothing,
		},
		{
			"no live read while the host object is being deleted", Facts{HostExists: true, HostDeleted: true},
			AwaitHostDeletion,
		},
		{
			"the host object is not deleted twice", Facts{HostExists: true, HostDeleted: true, Confirmed: true},
			AwaitHostDeletion,
		},
		{"absence is confirmed by the API server", Facts{HostExists: true}, Confirm},
		{"the virtual object is gone", Facts{HostExists: true, Confirmed: true}, DeleteHost},

		// The virtual object is being deleted.
		{"no host object is created for an object that is being deleted", deleting(Facts{}), Nothing},
		{"unless the option asks for it", deleting(Facts{RecreateDeleted: true}), SyncDown},
		{"both are synced while the virtual object is being deleted", deleting(Facts{HostExists: true}), Sync},
		{"also while the host object is being deleted", deleting(Facts{HostExists: true, HostDeleted: true}), Sync},
		{"a foreign object stays", deleting(Facts{HostExists: true, Foreign: true, UIDMismatch: true}), Nothing},
		{"a former image is deleted after a confirmation", deleting(Facts{HostExists: true, UIDMismatch: true}), Confirm},
		{"a former image is deleted", deleting(Facts{HostExists: true, UIDMismatch: true, Confirmed: true}), DeleteHost},
		{
			"a former image that is being deleted already",
			deleting(Facts{HostExists: true, UIDMismatch: true, HostDeleted: true}), AwaitHostDeletion,
		},
		{"the host object is deleted first, after a confirmation", deletingHostFirst(Facts{HostExists: true}), Confirm},
		{"the host object is deleted first", deletingHostFirst(Facts{HostExists: true, Confirmed: true}), DeleteHost},
		{
			"the host object is still being deleted", deletingHostFirst(Facts{HostExists: true, HostDeleted: true}),
			AwaitHostDeletion,
		},
		{
			"the cache may not contain the newer owner of the image",
			deletingHostFirst(Facts{HostExists: true, UIDMismatch: true}), Confirm,
		},
		{"the host object is gone", deletingHostFirst(Facts{}), RemoveFinalizer},
		{"the host object is gone and not created again", deletingHostFirst(Facts{RecreateDeleted: true}), RemoveFinalizer},
		{
			"a foreign object does not delay the deletion", deletingHostFirst(Facts{HostExists: true, Foreign: true}),
			RemoveFinalizer,
		},
		{
			"without the option the finalizer is removed",
			Facts{VirtualExists: true, VirtualDeleted: true, HasFinalizer: true, HostExists: true}, RemoveFinalizer,
		},

		// The virtual object is wanted.
		{
			"a conflict is reported",
			Facts{VirtualExists: true, HostExists: true, Foreign: true, UIDMismatch: true, Confirmed: true}, ReportConflict,
		},
		{
			"a conflict is not reported with ConflictIgnore",
			Facts{VirtualExists: true, HostExists: true, Foreign: true, IgnoreConflicts: true}, IgnoreConflict,
		},
		{"a former image needs a confirmation", Facts{VirtualExists: true, HostExists: true, UIDMismatch: true}, Confirm},
		{
			"a former image that is being deleted",
			Facts{VirtualExists: true, HostExists: true, UIDMismatch: true, HostDeleted: true}, AwaitHostDeletion,
		},
		{
			"a former image is deleted before a new one is created",
			Facts{VirtualExists: true, HostExists: true, UIDMismatch: true, Confirmed: true}, DeleteHost,
		},
		{
			"a former image is deleted before the finalizer is added",
			Facts{VirtualExists: true, HostExists: true, UIDMismatch: true, Confirmed: true, DeleteHostFirst: true}, DeleteHost,
		},
		{
			"the finalizer is added before the host object is created", Facts{VirtualExists: true, DeleteHostFirst: true},
			AddFinalizer,
		},
		{
			"the finalizer is added if the option was set later",
			Facts{VirtualExists: true, HostExists: true, DeleteHostFirst: true}, AddFinalizer,
		},
		{
			"an object with a conflict gets no finalizer",
			Facts{VirtualExists: true, HostExists: true, Foreign: true, DeleteHostFirst: true}, ReportConflict,
		},
		{
			"without the option the finalizer is removed from a wanted object",
			Facts{VirtualExists: true, HostExists: true, HasFinalizer: true}, RemoveFinalizer,
		},
		{
			"without the option the finalizer is removed after the conflict is resolved",
			Facts{VirtualExists: true, HostExists: true, Foreign: true, HasFinalizer: true}, ReportConflict,
		},
		{"both exist", Facts{VirtualExists: true, HostExists: true}, Sync},
		{
			"both exist, with the finalizer",
			Facts{VirtualExists: true, HostExists: true, DeleteHostFirst: true, HasFinalizer: true}, Sync,
		},
		{"only the virtual object exists", Facts{VirtualExists: true}, SyncDown},
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

// deleting returns the facts with a virtual object that is being deleted.
func deleting(f Facts) Facts {
	f.VirtualExists, f.VirtualDeleted = true, true
	return f
}

// deletingHostFirst returns the facts with a virtual object that is being deleted and
// keeps its finalizer until the host object is gone.
func deletingHostFirst(f Facts) Facts {
	f = deleting(f)
	f.HasFinalizer, f.DeleteHostFirst = true, true
	return f
}

// TestEveryActionHasAName verifies that names of actions are unique.
func TestEveryActionHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Actions() {
		if a.String() == "none" || seen[a.String()] {
			t.Errorf("action %d has the name %q, which is invalid or not unique", a, a)
		}
		seen[a.String()] = true
	}
	if got := Action(-1).String(); got != "none" {
		t.Errorf("Action(-1).String() = %q, want none", got)
	}
}

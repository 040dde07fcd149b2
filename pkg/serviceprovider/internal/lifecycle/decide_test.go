package lifecycle

import "testing"

// TestDecide checks each rule of the decision, with a reason per case.
func TestDecide(t *testing.T) {
	cases := []struct {
		reason string
		facts  Facts
		want   Action
	}{
		{"the object does not exist", Facts{Paused: true, Deleted: true}, Nothing},
		{"the object is paused", Facts{Exists: true, Paused: true}, ReportPaused},
		{"also during a deletion", Facts{Exists: true, Paused: true, Deleted: true, HasFinalizer: true}, ReportPaused},
		{
			"unless the option lets the deletion continue",
			Facts{Exists: true, Paused: true, Deleted: true, HasFinalizer: true, DeleteWhenPaused: true}, CheckRequests,
		},
		{"the option is for deletions only", Facts{Exists: true, Paused: true, DeleteWhenPaused: true}, ReportPaused},

		// The service is wanted.
		{"the configuration is read first", Facts{Exists: true}, ReadConfig},
		{"an earlier read error does not matter", Facts{Exists: true, ConfigUnknown: true}, ReadConfig},
		{"a read error changes nothing", configured(Facts{ConfigUnknown: true}), AwaitConfig},
		{"there is no configuration", Facts{Exists: true, ConfigRead: true}, ReportConfigMissing},
		{
			"the policies for deletion do not apply",
			Facts{Exists: true, ConfigRead: true, DeleteWithoutConfig: true, OrphanWithoutConfig: true}, ReportConfigMissing,
		},
		{"the finalizer is stored before anything is created", configured(Facts{}), AddFinalizer},
		{"the defaults are stored before the domain is called", configured(Facts{HasFinalizer: true}), Default},
		{"then access is requested", configured(Facts{HasFinalizer: true, Defaulted: true}), RequestAccess},
		{
			"an earlier denial does not matter", configured(Facts{HasFinalizer: true, Defaulted: true, Denied: true}),
			RequestAccess,
		},
		{"access is denied", requested(Facts{Denied: true}), ReportAccessDenied},
		{"access is not granted yet", requested(Facts{}), AwaitAccess},
		{
			"a cluster that does not exist may come back", requested(Facts{ClusterGone: true, OrphanOnClusterGone: true}),
			AwaitAccess,
		},
		{"access is granted", requested(Facts{Granted: true}), CreateOrUpdate},

		// The service is being deleted.
		{"our finalizer was removed", Facts{Exists: true, Deleted: true}, Nothing},
		{"the requests are read first", deleting(Facts{}), CheckRequests},
		{
			"a previous runtime releases access: nothing is left to delete, whatever the configuration",
			checked(Facts{Requests: RequestDeleting, MaybeCreated: true}), ReleaseAccess,
		},
		{
			"a third party deleted a request of a recorded service: access is requested again",
			checked(Facts{Requests: RequestDeleting, MaybeCreated: true, CreationRecorded: true}), ReadConfig,
		},
		{
			"a request is missing, and nothing was created: there is nothing to delete",
			checked(Facts{Requests: RequestMissing}), ReleaseAccess,
		},
		{
			"a request is missing, but something may exist: it is deleted with new access",
			checked(Facts{Requests: RequestMissing, MaybeCreated: true}), ReadConfig,
		},
		{
			"a missing request does not orphan the service", accessed(Facts{Requests: RequestMissing, MaybeCreated: true}),
			AwaitAccess,
		},
		{
			"nor does one that is being deleted",
			accessed(Facts{Requests: RequestDeleting, MaybeCreated: true, CreationRecorded: true}), AwaitAccess,
		},
		{
			"only a policy orphans the service",
			accessed(Facts{Requests: RequestMissing, MaybeCreated: true, ClusterGone: true, OrphanOnClusterGone: true}),
			ReleaseAccess,
		},
		{"the configuration is read after the requests", checked(Facts{}), ReadConfig},
		{"an earlier read error does not matter", checked(Facts{ConfigUnknown: true}), ReadConfig},
		{
			"a read error changes nothing", checked(Facts{ConfigRead: true, ConfigUnknown: true, OrphanWithoutConfig: true}),
			AwaitConfig,
		},
		{"no configuration: the deletion is blocked", checked(Facts{ConfigRead: true}), ReportDeletionBlocked},
		{
			"no configuration: the policy orphans the service", checked(Facts{ConfigRead: true, OrphanWithoutConfig: true}),
			ReleaseAccess,
		},
		{
			"no configuration: the policy deletes without one", checked(Facts{ConfigRead: true, DeleteWithoutConfig: true}),
			RequestAccess,
		},
		{
			"with a configuration the policies do not apply",
			checked(Facts{ConfigRead: true, ConfigFound: true, OrphanWithoutConfig: true}), RequestAccess,
		},
		{"the cluster does not exist: the deletion is blocked", accessed(Facts{ClusterGone: true}), ReportDeletionBlocked},
		{
			"the cluster does not exist: the policy orphans the service",
			accessed(Facts{ClusterGone: true, OrphanOnClusterGone: true}), ReleaseAccess,
		},
		{
			"the cluster does not exist and access is denied: the missing cluster counts",
			accessed(Facts{ClusterGone: true, Denied: true}), ReportDeletionBlocked,
		},
		{
			"a request with the same name has another owner: the deletion is blocked", accessed(Facts{NotOwned: true}),
			ReportDeletionBlocked,
		},
		{
			"also if our request is missing, whatever the policy for clusters",
			accessed(Facts{Requests: RequestMissing, MaybeCreated: true, NotOwned: true, OrphanOnClusterGone: true}),
			ReportDeletionBlocked,
		},
		{
			"nothing was created: another owner blocks nothing", checked(Facts{Requests: RequestMissing, NotOwned: true}),
			ReleaseAccess,
		},
		{"access is denied in a deletion", accessed(Facts{Denied: true}), ReportAccessDenied},
		{"access is not granted yet in a deletion", accessed(Facts{}), AwaitAccess},
		{"the domain deletes first", accessed(Facts{Granted: true}), DeleteService},
		{"then access is released", accessed(Facts{Granted: true, ServiceDeleted: true}), ReleaseAccess},
		{"a finished Delete needs no read of the requests", deleting(Facts{ServiceDeleted: true}), ReleaseAccess},
		{
			"then the finalizer is removed", accessed(Facts{Granted: true, ServiceDeleted: true, AccessReleased: true}),
			RemoveFinalizer,
		},
	}
	for _, tc := range cases {
		if got := Decide(tc.facts); got != tc.want {
			t.Errorf("%s: Decide(%+v) = %s, want %s", tc.reason, tc.facts, got, tc.want)
		}
	}
}

// configured returns facts of an existing object whose configuration was read.
func configured(f Facts) Facts {
	f.Exists, f.ConfigRead, f.ConfigFound = true, true, true

	return f
}

// requested returns facts of a wanted object for which access was requested.
func requested(f Facts) Facts {
	f = configured(f)
	f.HasFinalizer, f.Defaulted, f.AccessRequested = true, true, true

	return f
}

// deleting returns facts of an object with our finalizer that is being deleted.
func deleting(f Facts) Facts {
	f.Exists, f.Deleted, f.HasFinalizer = true, true, true

	return f
}

// checked returns facts of a deletion whose requests were read.
func checked(f Facts) Facts {
	f = deleting(f)
	if f.Requests == RequestsUnchecked {
		f.Requests = RequestsPresent
	}

	return f
}

// accessed returns facts of a deletion for which access was requested.
func accessed(f Facts) Facts {
	f = checked(f)
	f.ConfigRead, f.ConfigFound, f.AccessRequested = true, true, true

	return f
}

// TestEveryActionHasAName checks String for all actions and for values that are none.
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

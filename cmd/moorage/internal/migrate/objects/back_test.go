package objects_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate/objects"
)

// TestDecideBack has a row for each thing that Moorage leaves on an object.
func TestDecideBack(t *testing.T) {
	const (
		begun = `"krateo.io/external-create-pending":"2026-01-02T03:04:05Z"`
		made  = begun + `,"krateo.io/external-create-succeeded":"2026-01-02T03:04:06Z","krateo.io/external-name":"a"`
		found = `,"status":{"conditions":[{"type":"Created","status":"True","reason":"Observed",` +
			`"message":"2026-01-02T03:04:06Z of \"a\""},{"type":"Ready"},{"type":"UpToDate"}]}`
		keep = `"krateo.io/deletion-policy":"orphan"`
		ours = `,"finalizers":["example.org/keep","finalizer.managedresource.krateo.io"]`
	)

	for _, row := range []struct {
		why  string
		to   objects.Predecessor
		role objects.Role
		o    string // without the outer braces
		what string // what is done
		says string // of a conflict
	}{
		{why: "an object that nobody has touched is left alone", to: "crossplane-v2", o: `"metadata":{}`},
		{
			why: "finalizer, name and marks go back, and nothing of ours is left to be out of date",
			to:  "crossplane-v2",
			o:   `"metadata":{"annotations":{` + made + `,"crossplane.io/external-name":"a"}` + ours + `}` + found,
			what: "set crossplane.io/external-create-pending, set crossplane.io/external-create-succeeded, " +
				"remove krateo.io/external-create-pending, remove krateo.io/external-create-succeeded, remove " +
				"krateo.io/external-name, " +
				"put finalizer.managedresource.crossplane.io on, take finalizer.managedresource.krateo.io off, remove the " +
				"condition UpToDate, remove the condition Created",
		},
		{
			why: "what the provider has filled in is only known here", to: "krateo-v0.9",
			o:    `"metadata":{"annotations":{"moorage.dev/late-initialized":"spec.size"}}`,
			what: "remove moorage.dev/late-initialized",
		},
		{
			why: "what has gone back already is not changed again", to: "crossplane-v2",
			o: `"metadata":{"annotations":{"crossplane.io/external-name":"a","crossplane.io/paused":"true"},` +
				`"finalizers":["finalizer.managedresource.crossplane.io"]}`,
		},
		{
			why: "the name that Moorage keeps the object under counts", to: "crossplane-v1",
			o: `"metadata":{"annotations":{"krateo.io/external-name":"b","crossplane.io/external-name":"a"}` +
				ours + `}`,
			what: "set crossplane.io/external-name, remove krateo.io/external-name, put " +
				"finalizer.managedresource.crossplane.io on, take finalizer.managedresource.krateo.io off",
		},
		{
			why: "of an object that Moorage has not kept, two names are two resources", to: "crossplane-v1",
			o:    `"metadata":{"annotations":{"krateo.io/external-name":"b","crossplane.io/external-name":"a"}}`,
			says: `krateo.io/external-name is "b" and crossplane.io/external-name is "a"`,
		},
		{
			why: "a mark that a user has removed here does not come back", to: "crossplane-v2",
			o: `"metadata":{"annotations":{"crossplane.io/external-create-pending":"2026-01-02T03:04:05Z"}` +
				ours + `}`,
			what: "remove crossplane.io/external-create-pending, put finalizer.managedresource.crossplane.io on, take " +
				"finalizer.managedresource.krateo.io off",
		},
		{
			why: "a pause goes back", to: "crossplane-v2",
			o:    `"metadata":{"annotations":{"krateo.io/paused":"true"}}`,
			what: "set crossplane.io/paused, remove krateo.io/paused",
		},
		{
			why: "a pause that is over here is over there", to: "crossplane-v2",
			o:    `"metadata":{"annotations":{"krateo.io/paused":"false","crossplane.io/paused":"true"}}`,
			what: "remove krateo.io/paused, remove crossplane.io/paused",
		},
		{
			why: "a pause of theirs alone stays", to: "crossplane-v2",
			o: `"metadata":{"annotations":{"crossplane.io/paused":"true"}}`,
		},
		{
			why: "krateo's pause is the same", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{"krateo.io/paused":"true"}}`,
		},
		{
			why: "krateo's marks and finalizer are the same", to: "krateo-v0.9",
			o:    `"metadata":{"annotations":{` + made + `}` + ours + `}` + found,
			what: "remove the condition UpToDate, remove the condition Created",
		},
		{
			why: "the result of a creation is not known", to: "crossplane-v2",
			o: `"metadata":{"annotations":{` + begun + `}` + ours + `}`, says: "result is not known",
		},
		{
			why: "nor that of an attempt", to: "krateo-v0.9",
			o:    `"metadata":{"annotations":{"moorage.dev/create-attempt":"1a"}` + ours + `}`,
			says: "result is not known",
		},
		{
			why: "what a predecessor has begun is its own", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{` + begun + `}` + ours + `}`,
		},
		{
			why: "and which it has marked as such itself", to: "crossplane-v2",
			o: `"metadata":{"annotations":{` + begun +
				`,"crossplane.io/external-create-pending":"2026-01-02T03:04:05Z","moorage.dev/was-unresolved":"true"}` + ours + `}`,
			what: "remove krateo.io/external-create-pending, remove moorage.dev/was-unresolved, put " +
				"finalizer.managedresource.crossplane.io on, take finalizer.managedresource.krateo.io off",
		},
		{
			why: "policies that have Delete win over Orphan", to: "crossplane-v1",
			says: "which crossplane-v1 obeys whatever deletionPolicy says",
			o: `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"deletionPolicy":"Orphan",` +
				`"managementPolicies":["Observe","Create","Update","Delete"]}`,
		},
		{
			why: "the same where Orphan is in the spec alone", to: "crossplane-v1",
			says: "which crossplane-v1 obeys whatever deletionPolicy says",
			o:    `"metadata":{},"spec":{"deletionPolicy":"Orphan","managementPolicies":["Observe","Delete"]}`,
		},
		{
			why: "it would be created again in the other system", to: "crossplane-v1",
			says: "do first what the condition asks for",
			o: `"metadata":{"annotations":{"krateo.io/external-name":"a"}` + ours +
				`},"status":{"conditions":[{"type":"Synced","status":"False","reason":"BackendChanged"}]}`,
		},
		{
			why: "or in place of what is lost", to: "crossplane-v1", says: "do first what the condition asks for",
			o: `"metadata":{"annotations":{"krateo.io/external-name":"a"}` + ours +
				`},"status":{"conditions":[{"type":"Synced","status":"False","reason":"RecreationNotRequested"}]}`,
		},
		{
			why: "the object went back, and the request for its status failed", to: "crossplane-v2",
			what: "remove the condition Created",
			o: `"metadata":{"annotations":{"crossplane.io/external-create-pending":"2026-01-02T03:04:05Z",` +
				`"crossplane.io/external-create-succeeded":"2026-01-02T03:04:06Z"},` +
				`"finalizers":["finalizer.managedresource.crossplane.io"]},` +
				`"status":{"conditions":[{"type":"Created","status":"True","reason":"Observed","message":"2026-01-02T03:04:06Z ` +
				`of \"a\""}]}`,
		},
		{
			why: "the predecessor's creation succeeded, and its resource is not found", to: "crossplane-v1",
			says: "was not found yet",
			o: `"metadata":{"annotations":{` + made +
				`,"krateo.io/external-create-pending":"2026-01-02T03:04:05Z",` +
				`"crossplane.io/external-create-pending":"2026-01-02T03:04:05Z"}` + ours +
				`},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ReconcileError"}]}`,
		},
		{
			why: "what was created and not found would be created again", to: "crossplane-v2",
			o: `"metadata":{"annotations":{` + made + `}` + ours + `}`, says: "was not found yet",
		},
		{
			why: "what is gone would be created again", to: "krateo-v0.7",
			o:    `"metadata":{},"status":{"conditions":[{"type":"Synced","reason":"CreationUnresolved"}]}`,
			says: "would create again",
		},
		{
			why: "what belongs to another would be changed", to: "krateo-v0.9",
			o:    `"metadata":{},"status":{"conditions":[{"type":"Synced","reason":"ExternalResourceNotOwned"}]}`,
			says: "belongs to another",
		},
		{
			why: "unless the object is paused", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{"krateo.io/paused":"true"}},"status":{"conditions":[{"type":"Synced",` +
				`"reason":"ExternalResourceNotOwned"}]}`,
		},
		{
			why: "a failure of Connect hides that it belongs to another: Ready is all that is left to say so",
			to:  "crossplane-v2", says: "Synced says ReconcileError, and Ready Unavailable",
			o: `"metadata":{},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ReconcileError"},` +
				`{"type":"Ready","status":"False","reason":"Unavailable"}]}`,
		},
		{
			why: "so does an outage, or what was found once is missing now", to: "krateo-v0.9",
			says: "Synced says Unauthorized, and Ready Creating",
			o: `"metadata":{"annotations":{` + made + `}` + ours +
				`},"status":{"conditions":[{"type":"Synced","status":"False","reason":"Unauthorized"},{"type":"Ready",` +
				`"status":"False","reason":"Creating"},` +
				`{"type":"Created","status":"True","reason":"Observed","message":"2026-01-02T03:04:06Z of \"a\""}]}`,
		},
		{
			why: "or a pause that is over", to: "krateo-v0.9",
			says: "Synced says ReconcilePaused, and Ready Unavailable",
			o: `"metadata":{},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ReconcilePaused"},` +
				`{"type":"Ready","status":"False","reason":"Unavailable"}]}`,
		},
		{
			why: "a failure hides that the connection leads to another system", to: "crossplane-v1",
			says: "whether the connection leads to another external system",
			o: `"metadata":{"annotations":{"krateo.io/external-name":"a","moorage.dev/backend-identity":"blue"}` +
				ours +
				`},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ReconcileError"},{"type":"Ready",` +
				`"status":"True","reason":"Available"}]}`,
		},
		{
			why: "what is paused is not changed there, whatever is hidden", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{"krateo.io/paused":"true"}},"status":{"conditions":[{"type":"Synced",` +
				`"status":"False","reason":"ReconcilePaused"},{"type":"Ready","status":"False","reason":"Unavailable"}]}`,
		},
		{
			why: "by their annotation, too", to: "crossplane-v2",
			o: `"metadata":{"annotations":{"crossplane.io/paused":"true"}},"status":{"conditions":[{"type":"Synced",` +
				`"status":"False","reason":"ExternalResourceNotOwned"}]}`,
		},
		{
			why: "or by policies", to: "crossplane-v2",
			o: `"metadata":{},"spec":{"managementPolicies":[]},"status":{"conditions":[{"type":"Synced","status":"False",` +
				`"reason":"ReconcilePaused"},{"type":"Ready","status":"False","reason":"Unavailable"}]}`,
		},
		{
			why: "but not for v1, which reads policies only with a feature that a provider may not have",
			to:  "crossplane-v1", says: "belongs to another",
			o: `"metadata":{},"spec":{"managementPolicies":[]},` +
				`"status":{"conditions":[{"type":"Synced","status":"False","reason":"ExternalResourceNotOwned"}]}`,
		},
		{
			why: "what was ready before an outage is the object's own", to: "krateo-v0.9",
			o: `"metadata":{},"status":{"conditions":[{"type":"Synced","status":"False",` +
				`"reason":"ExternalSystemUnavailable"},{"type":"Ready","status":"True","reason":"Available"}]}`,
		},
		{
			why: "what was never found hides nothing", to: "krateo-v0.9",
			o: `"metadata":{},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ReconcileError"},` +
				`{"type":"Ready","status":"False","reason":"Creating"}]}`,
		},
		{
			why: "nor does what was looked at", to: "krateo-v0.9",
			o: `"metadata":{},"status":{"conditions":[{"type":"Synced","status":"False","reason":"ExternalResourceMissing"},` +
				`{"type":"Ready","status":"False","reason":"Unavailable"}]}`,
		},
		{
			why: "a condition Created of the provider's own stays, and says nothing of Moorage", to: "crossplane-v2",
			o: `"metadata":{"annotations":{"crossplane.io/external-create-pending":"2026-01-02T03:04:05Z"}},` +
				`"status":{"conditions":[{"type":"Created","status":"True","reason":"VolumeCreated"}]}`,
		},
		{
			why: "an operation is in progress", to: "krateo-v0.9",
			o:    `"metadata":{"annotations":{"moorage.dev/operation":"7"}}`,
			says: "an operation is in progress",
		},
		{
			why: "details are not published", to: "crossplane-v2",
			o:    `"metadata":{"annotations":{"moorage.dev/creation-details":"pending"}}`,
			says: "are not published",
		},
		{
			why: "nobody gives a finalizer to an object that is being deleted", to: "crossplane-v2",
			o:    `"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"` + ours + `}`,
			says: "let Moorage end the deletion",
		},
		{
			why: "krateo's deletion goes on", to: "krateo-v0.9",
			o: `"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"` + ours + `}`,
		},
		{
			why: "what must not be deleted stays so, in the field", to: "krateo-v0.7",
			o:    `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"deletionPolicy":"Delete"}`,
			what: "remove krateo.io/deletion-policy, set spec.deletionPolicy",
		},
		{
			why: "or is refused, if there is no field", to: "crossplane-v2",
			o:    `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"managementPolicies":["*"]}`,
			says: "forbid the deletion in the spec",
		},
		{
			why: "a field that a namespaced kind has still is not read by v2", to: "crossplane-v2",
			says: "forbid the deletion in the spec",
			o: `"metadata":{"namespace":"db","annotations":{"krateo.io/deletion-policy":"orphan"}},` +
				`"spec":{"deletionPolicy":"Orphan","managementPolicies":["*"]}`,
		},
		{
			why: "that of a cluster-scoped kind is", to: "crossplane-v2",
			what: "remove krateo.io/deletion-policy, set spec.deletionPolicy",
			o: `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"deletionPolicy":"Delete",` +
				`"managementPolicies":["*"]}`,
		},
		{
			why: "policies forbid it already", to: "crossplane-v2",
			o:    `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"managementPolicies":["Observe"]}`,
			what: "remove krateo.io/deletion-policy",
		},
		{
			why: "an empty list does not forbid it to v1 without that feature", to: "crossplane-v1",
			says: "forbid the deletion in the spec",
			o:    `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}},"spec":{"managementPolicies":[]}`,
		},
		{
			why: "any other list does: v1 refuses the object without that feature", to: "crossplane-v1",
			what: "remove krateo.io/deletion-policy",
			o:    `"metadata":{"annotations":{` + keep + `}},"spec":{"managementPolicies":["Observe"]}`,
		},
		{
			why: "krateo v0.9 knows the annotation", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan","krateo.io/management-policy":"observe"}}`,
		},
		{
			why: "but deletes by observe-delete, whatever the annotation says", to: "krateo-v0.9",
			says: "which krateo-v0.9 obeys whatever krateo.io/deletion-policy says",
			o:    `"metadata":{"annotations":{` + keep + `,"krateo.io/management-policy":"observe-delete"}}`,
		},
		{
			why: "as is meant if the annotation does not forbid it", to: "krateo-v0.9",
			o: `"metadata":{"annotations":{"krateo.io/deletion-policy":"delete",` +
				`"krateo.io/management-policy":"observe-delete"}}`,
		},
		{
			why: "v0.7 does not know either of the two", to: "krateo-v0.7",
			says: `"observe-delete", which krateo-v0.7 does not know`,
			o: `"metadata":{"annotations":{` + keep + `,"krateo.io/management-policy":"observe-delete"}},` +
				`"spec":{"deletionPolicy":"Orphan"}`,
		},
		{
			why: "v0.7 does not know the policy", to: "krateo-v0.7",
			o:    `"metadata":{"annotations":{"krateo.io/management-policy":"observe"}}`,
			says: "does not know",
		},
		{
			why: "krateo knows no policies in the spec", to: "krateo-v0.9",
			o: `"metadata":{},"spec":{"managementPolicies":[]}`, says: "does not know",
		},
		{
			why: "the finalizer of a configuration goes back", to: "crossplane-v1", role: objects.Configuration,
			o:    `"metadata":{"finalizers":["in-use.moorage.dev"]}`,
			what: "put in-use.crossplane.io on, take in-use.moorage.dev off",
		},
		{
			why: "krateo has none, and would not remove it", to: "krateo-v0.9", role: objects.Configuration,
			o: `"metadata":{"finalizers":["in-use.moorage.dev"]}`, what: "take in-use.moorage.dev off",
		},
		{
			why: "a configuration that is being deleted is refused", to: "crossplane-v1", role: objects.Configuration,
			o:    `"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["in-use.moorage.dev"]}`,
			says: "is being deleted, and the objects that use it have to go first",
		},
	} {
		var o objects.Object
		if err := json.Unmarshal([]byte("{"+row.o+"}"), &o); err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}

		c := objects.DecideBack(row.to, "roles", row.role, o)
		if diff := cmp.Diff(row.what, c.What()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", row.why, diff)
		}

		if conflicts := strings.Join(c.Conflicts, "; "); (row.says == "") != (conflicts == "") ||
			!strings.Contains(conflicts, row.says) {
			t.Errorf("%s: told is %q, not %q", row.why, conflicts, row.says)
		}

		if len(c.Conflicts) > 0 && !c.Empty() {
			t.Errorf("%s: an object that a person has to decide about is changed", row.why)
		}

		if len(c.Take) > 0 && slices.Contains(o.Metadata.Finalizers, "example.org/keep") &&
			!slices.Contains(c.Finalizers, "example.org/keep") {
			t.Errorf("%s: somebody else's finalizer goes", row.why)
		}
	}
}

// TestBackCommand has the line that is printed: a command for the object, which fails if the object is not the one that
// was read, and one for its status, which runs only after the first has succeeded.
func TestBackCommand(t *testing.T) {
	c := objects.Change{
		Resource: "roles", Name: "a", ResourceVersion: "7", Annotations: map[string]string{"x": "1"},
		Drop: []string{"y"}, Orphan: true,
		Take: []string{"ours"}, Conditions: []objects.Indexed{{Index: 2, Type: "Created"}},
	}
	want := `kubectl patch roles a --type=merge '--patch={"metadata":{"annotations":{"x":"1","y":null},"finalizers":[],` +
		`"resourceVersion":"7"},"spec":{"deletionPolicy":"Orphan"}}'` + ` && ` +
		`kubectl patch roles a --subresource=status --type=json '--patch=[{"op":"test","path":"/status/conditions/2/type",` +
		`"value":"Created"},{"op":"remove","path":"/status/conditions/2"}]'`

	if diff := cmp.Diff(want, c.Command()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	want = strings.ReplaceAll(want, "' && kubectl", "' --context=dev && kubectl") + " --context=dev"
	if diff := cmp.Diff(want, c.Command("--context=dev")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	c = objects.Change{
		Resource: "roles", Name: "a", ResourceVersion: "7",
		Conditions: []objects.Indexed{{Index: 2, Type: "Created"}},
	}
	want = `kubectl patch roles a --subresource=status --type=json ` +
		`'--patch=[{"op":"test","path":"/metadata/resourceVersion","value":"7"},` +
		`{"op":"test","path":"/status/conditions/2/type","value":"Created"},` +
		`{"op":"remove","path":"/status/conditions/2"}]'`

	if diff := cmp.Diff(want, c.Command()); diff != "" {
		t.Errorf("the status alone: -want, +got:\n%s", diff)
	}
}

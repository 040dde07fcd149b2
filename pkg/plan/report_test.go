package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func planOf(name, action string) managed.Plan {
	return managed.Plan{
		Kind:   schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Bucket"},
		Object: types.NamespacedName{Namespace: "sea", Name: name}, Action: action, Because: "It is so.",
	}
}

// plans has a plan of each sort.
func plans() []managed.Plan {
	update := planOf("b-update", "Update")
	update.Differences = []commonv1.Difference{
		{Path: "maxAge", Desired: `"24h"`, Observed: `"72h"`},
		{Path: "subjects", Observed: "[\"a.\\u003e\x1b[2J\u202e\xff\n\"]", Immutable: true},
		{Path: "password", Sensitive: true},
	}
	update.MoreDifferences = 9997
	update.ExternalName = "id\x1b[2J\n7"
	fixed := planOf("b-fixed", "Update")
	fixed.Differences = []commonv1.Difference{{Path: "storage", Desired: `"file"`, Observed: `"memory"`, Immutable: true}}
	fixed.Reported = true
	failed := planOf("c-failed", "")
	failed.Because, failed.Err = "", errors.New("no route\r\nto \x07host")
	adopted := planOf("d-adopted", "Keep")
	adopted.Writes = []managed.PlannedWrite{
		{Verb: "patch", Kind: "Bucket", Name: "d-adopted", Fields: []string{"metadata.finalizers"}},
		{Verb: "create", Kind: "Secret", Name: "details"},
	}
	none := managed.Plan{Kind: schema.GroupVersionKind{Kind: "Other"}, Err: errors.New("cannot list")}

	return []managed.Plan{
		planOf("z-kept", "Keep"), failed, update, planOf("a-create", "Create"), planOf("e-deleted", "Delete"),
		planOf("f-unknown", "AskUser"), adopted, none, planOf("g-paused", "Pause"), fixed,
	}
}

func reportOf(plans ...managed.Plan) *report {
	r := newReport(Provider{Name: "provider-x", Version: "v1"}, answering{err: errors.New("no cluster")}, 2)
	for _, p := range plans {
		r.add(p)
	}
	r.sort()
	r.calls = managed.PlanCalls{List: 21, Observe: 1}
	r.took, r.unvalidated, r.how = 1500*time.Millisecond, 1, managed.Apply{ServerSide: true}

	return r
}

// TestTable compares the table, which has no control characters.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := reportOf(plans()...).print(&out, flags{output: outputTable}); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
KIND    NAMESPACE  NAME       WOULD    BECAUSE            FIELDS
Bucket  sea        a-create   Create   It is so
Bucket  sea        b-fixed    Update   It is so           storage "file" <- "memory" (cannot be changed)
Bucket  sea        b-update   Update   It is so           maxAge "24h" <- "72h", FIELDS
Bucket  sea        c-failed   ?        no route to ?host
Bucket  sea        d-adopted  Keep     It is so           (writes metadata.finalizers, Secret details)
Bucket  sea        e-deleted  Delete   It is so
Bucket  sea        f-unknown  AskUser  It is so           (waits for a user)
Other   -          -          ?        cannot list

10 objects of 2 kinds in 1.5s, with 21 calls to list and 1 to look.
2 as it is, 1 would be created, 1 would be updated, 1 would be deleted, `+
		`1 differs only in fields that cannot be changed, 1 to be looked after by a user, `+
		`1 without a change of the external system, 2 could not be planned.
The API server has not validated 1 manifest: that needs the verbs patch and create for the objects.
So a field that a file no longer has counts as not removed.
Nothing was changed.
`, "\n")
	want = strings.Replace(want, ", FIELDS\n", `, subjects none <- ["a.>?[2J?? "] (cannot be changed), `+
		"password (sensitive), and 9997 more\n", 1)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestJSON verifies the fields that programs read.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := reportOf(plans()...).print(&out, flags{output: outputJSON, all: true}); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	objects, _ := got["objects"].([]any)
	if len(objects) != 10 || got["apiVersion"] != "moorage.dev/v1" || got["kind"] != "Plan" ||
		got["provider"] != "provider-x" || got["version"] != "v1" {
		t.Errorf("%s", out.String())
	}
	want := map[string]any{
		"apiVersion": "example.org/v1", "kind": "Bucket", "namespace": "sea", "name": "d-adopted", "action": "Keep",
		"because": "It is so.", "writes": []any{
			map[string]any{
				"verb": "patch", "kind": "Bucket", "name": "d-adopted", "fields": []any{"metadata.finalizers"},
			},
			map[string]any{"verb": "create", "kind": "Secret", "name": "details"},
		},
	}
	if diff := cmp.Diff(want, objects[4]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	of := func(n int, field string) any { o, _ := objects[n].(map[string]any); return o[field] }
	if of(2, "externalName") != "id?[2J 7" || of(3, "error") != "no route to ?host" {
		t.Errorf("texts of others: %q, %q", of(2, "externalName"), of(3, "error"))
	}
	summary := map[string]any{
		"objects": 10., "atRest": 2., "create": 1., "update": 1., "delete": 1., "immutable": 1.,
		"waitForUser": 1., "other": 1., "unknown": 2., "notValidated": 1.,
	}
	if diff := cmp.Diff(map[string]any{"list": 21., "observe": 1.}, got["calls"]); diff != "" {
		t.Errorf("calls: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(summary, got["summary"]); diff != "" {
		t.Errorf("summary: -want, +got:\n%s", diff)
	}
}

// TestFollows verifies which objects follow others of the files: those that could not be planned because others would
// have to be created first.
func TestFollows(t *testing.T) {
	of := func(name string, referents ...string) managed.Plan {
		p := planOf(name, "")
		p.Err = errors.New("not found")
		for _, referent := range referents {
			p.Referents = append(p.Referents, managed.PlannedReferent{Kind: p.Kind, Object: planOf(referent, "").Object})
		}

		return p
	}
	r := reportOf(planOf("a", "Create"), planOf("b", "ReportMissing"), of("c", "a"), of("d", "c", "a"), of("e", "b"),
		of("f", "a", "g"), of("g"), of("h", "i"), of("i", "h"))
	r.end(t.Context())
	s := r.summary()
	if s.Create != 1 || s.Follow != 2 || s.Unknown != 5 || r.exitCode() != ExitFailed {
		t.Errorf("%+v, exit code %d", s, r.exitCode())
	}
	r = reportOf(planOf("a", "Create"), of("c", "a"))
	r.end(t.Context())
	var out bytes.Buffer
	if err := r.print(&out, flags{output: outputTable}); err != nil {
		t.Fatal(err)
	}
	const row = "Bucket  sea        c     Follow  Bucket sea/a, which the files create first: not found\n"
	if r.exitCode() != ExitChanges || !strings.Contains(out.String(), row) ||
		!strings.Contains(out.String(), "1 would be created, 1 follows other objects of the files.") {
		t.Errorf("exit code %d\n%s", r.exitCode(), out.String())
	}
	out.Reset()
	if err := r.print(&out, flags{output: outputJSON}); err != nil || !strings.Contains(out.String(),
		`"action": "Follow"`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestExitCode verifies that a failure counts more than a change.
func TestExitCode(t *testing.T) {
	failed := managed.Plan{Err: errors.New("boom")}
	immutable := planOf("a", "Update")
	immutable.Differences = []commonv1.Difference{{Path: "storage", Immutable: true}}
	newer := immutable
	immutable.Reported = true
	for name, c := range map[string]struct {
		plans []managed.Plan
		want  int
	}{
		"none":          {nil, ExitUnchanged},
		"at rest":       {[]managed.Plan{planOf("a", "Keep"), planOf("b", "AskUser")}, ExitUnchanged},
		"create":        {[]managed.Plan{planOf("a", "Keep"), planOf("b", "Create")}, ExitChanges},
		"update":        {[]managed.Plan{planOf("a", "Update")}, ExitChanges},
		"delete":        {[]managed.Plan{planOf("a", "Delete")}, ExitChanges},
		"failed":        {[]managed.Plan{failed}, ExitFailed},
		"immutable":     {[]managed.Plan{immutable}, ExitUnchanged},
		"of a version":  {[]managed.Plan{newer}, ExitChanges},
		"failed change": {[]managed.Plan{planOf("a", "Create"), failed}, ExitFailed},
	} {
		if got := reportOf(c.plans...).exitCode(); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
}

// TestProgress verifies that a line is written now and then, and removed at the end, and only on a terminal.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	progress := progressTo(&out, func() time.Time { return now })
	progress(1, 5)
	progress(2, 5) // too soon
	now = now.Add(2 * time.Second)
	progress(4, 5)
	progress(5, 5)
	const line = "\r\x1b[K"
	want := line + "1 objects planned, 4 left" + line + "4 objects planned, 1 left, 2 per second" + line
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, to := range []interface{ Write([]byte) (int, error) }{file, &bytes.Buffer{}} {
		progressOn(to)(1, 2)
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("progress in a file: %v, %v", info, err)
	}
}

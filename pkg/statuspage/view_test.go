package statuspage

import (
	"strings"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// mustHave fails the test for each text that a page does not have.
func mustHave(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not have %q", text)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestOverview: the first page has the parts that an operator needs, and no object that is well.
func TestOverview(t *testing.T) {
	x := example()
	must(t, x.changes.Record(t.Context(), changelog.Entry{
		Time: begin, Operation: changelog.OperationUpdate, Name: "broken", Namespace: "sea", UID: "uid-broken",
		Error: "no quota",
	}))
	s := signedIn(t, x)
	page := s.page("/")
	mustHave(t, page, "provider-buckets", "v1.2.3", "There is no leader election", `aria-label="1 Failing"`, "1–7 of 7",
		"observe failed: no route to host", "<code>maxAge</code>: desired <code>&#34;24h0m0s&#34;</code>, observed",
		"<code>key</code>: <em>not shown, because it is secret</em>", "(an update does not change it)", "and 3 more",
		"Tolerate: The policies do not allow to update.", "2026-11-02 08:31:00 UTC", "ProviderConfig/main",
		"ProviderConfig/sea/main", "slow down", "12.5", "2 (0)", "0 (7)", "failed:</strong> no quota", "/object/uid-broken")
	if strings.Contains(page, "uid-well") {
		t.Error("an object that is well is in the list of those that are not")
	}
}

// TestFilter: objects are filtered by text and by state.
func TestFilter(t *testing.T) {
	s := signedIn(t, example())
	for path, want := range map[string][]string{
		"/?state=Well":           {"well"},
		"/?state=Failing":        {"broken"},
		"/?q=DRIFT":              {"drifted"},
		"/?q=thrott&state=All":   {"throttled"},
		"/?q=UpdateRestricted":   {"drifted"},
		"/?q=none":               {},
		"/?state=Nonsense&q=bro": {"broken"},
		"/?page=2":               {},
		"/?page=-1&q=fresh":      {"fresh"},
		"/?q=no+route":           {}, // messages are not searched
		"/?state=All":            {"broken", "throttled", "deleted", "drifted", "creating", "fresh", "resting", "well"},
	} {
		page := s.page(path)
		for _, o := range example().objects {
			name := o.GetName()
			wanted := false
			for _, w := range want {
				wanted = wanted || w == name
			}
			if got := strings.Contains(page, "/object/uid-"+name); got != wanted {
				t.Errorf("%s has %s: %t, want %t", path, name, got, wanted)
			}
		}
	}
}

// TestObjectPage: the page of an object has all that is known of it.
func TestObjectPage(t *testing.T) {
	x := example()
	b := newBucket("named")
	meta.SetExternalName(b, "bucket-7")
	x.objects = append(x.objects, b)
	must(t, x.changes.Record(t.Context(), changelog.Entry{Operation: changelog.OperationCreate, Name: "named",
		UID: b.UID, ExternalName: "bucket-7"}))
	must(t, x.changes.Record(t.Context(), changelog.Entry{Operation: changelog.OperationDelete, Name: "other"}))
	page := signedIn(t, x).page("/object/uid-named")
	mustHave(t, page, "<h1>Bucket sea/named</h1>", "bucket-7", "ReconcileSuccess", "ProviderConfig/main", "Create",
		"2026-11-02 08:30:00 UTC")
	if strings.Contains(page, "Delete") {
		t.Error("the page has the change of another object")
	}
}

// TestLeadership: a process on standby names the leader.
func TestLeadership(t *testing.T) {
	for want, l := range map[string]leadership{
		"This process is the leader.":    {elects: true, leader: "pod-1_a"},
		"The leader is pod-1_a.":         {elects: true, standby: true, leader: "pod-1_a"},
		"The leader is not known yet.":   {elects: true, standby: true},
		"There is no leader election":    {},
		"reconciles nothing. The leader": {standby: true},
	} {
		x := example()
		x.leadership = l
		mustHave(t, signedIn(t, x).page("/"), want)
	}
}

// planted has the forms of a secret that is in a field by mistake.
var planted = []string{"ghp_" + strings.Repeat("16C7e42F29", 3) + "347Ae1", "password=hunter2sesame",
	"https://admin:hunter2sesame@example.org/x"}

// TestNoSecretOnAnyPage: a secret in any text of any part is on no page.
func TestNoSecretOnAnyPage(t *testing.T) {
	for _, secret := range planted {
		x := example()
		b := newBucket("leak", synced(commonv1.ConditionReason(secret), "cannot connect with "+secret),
			commonv1.Creating().WithMessage(secret), upToDate("UpdateRestricted", secret))
		b.Namespace, b.Name, b.config, b.Labels = secret, secret, secret, map[string]string{"a": secret}
		meta.SetExternalName(b, secret)
		b.SetDrift(&commonv1.Drift{Fields: []commonv1.Difference{
			{Path: secret, Desired: secret, Observed: secret},
			{Path: "password", Desired: "hunter2sesame", Observed: "hunter2sesame"},
		}})
		throttled := newBucket("held", synced(commonv1.ReasonThrottled, secret))
		throttled.config = secret
		x.objects = append(x.objects, b, throttled)
		x.connections = append(x.connections, limit.State{Name: secret, Reason: limit.ReasonUnavailable, Message: secret,
			Scope: secret})
		x.leadership = leadership{elects: true, standby: true, leader: secret}
		must(t, x.changes.Record(t.Context(), changelog.Entry{
			Operation: changelog.OperationCreate, Name: secret, Namespace: secret, UID: b.UID, ExternalName: secret,
			Error: secret, Details: map[string]string{"a": secret}, Before: []byte(`{"a":"` + secret + `"}`),
		}))
		s := signedIn(t, x)
		s.options.Provider, s.options.Version = secret, secret
		for _, path := range []string{"/", "/?state=All", "/?q=hunter2", "/object/uid-leak", "/object/uid-held"} {
			page := s.page(path)
			if strings.Contains(page, strings.Repeat("16C7e42F29", 2)) || strings.Contains(page, "hunter2sesame") {
				t.Errorf("%s shows %s: %s", path, secret, page)
			}
			if path == "/?q=hunter2" && strings.Contains(page, "uid-leak") {
				t.Error("a filter finds a secret")
			}
		}
	}
}

// TestTextIsNotMarkup: a text of an object does not become a part of the page.
func TestTextIsNotMarkup(t *testing.T) {
	x := example()
	x.objects = append(x.objects, newBucket("evil", synced("Bad", "<script>alert(1)</script>\x1b[31m\r\nnext")))
	s := signedIn(t, x)
	for _, path := range []string{"/", "/object/uid-evil", "/?q=%3Cscript%3E"} {
		if page := s.page(path); strings.Contains(page, "<script>") || strings.Contains(page, "\x1b") {
			t.Errorf("%s: %s", path, page)
		}
	}
}

// TestManyObjectsArePaged: with 20,000 objects all objects can be reached, page by page.
func TestManyObjectsArePaged(t *testing.T) {
	const all = 20_000
	s := signedIn(t, manyObjects(all))
	seen := map[string]bool{}
	for path := "/?state=All"; path != ""; {
		page := s.page(path)
		for _, part := range strings.Split(page, `href="/object/`)[1:] {
			uid, _, _ := strings.Cut(part, `"`)
			seen[uid] = true
		}
		link, _, found := strings.Cut(page, `" rel="next"`)
		if path = ""; found {
			path = strings.ReplaceAll(link[strings.LastIndex(link, `"`)+1:], "&amp;", "&")
		}
	}
	if len(seen) != all {
		t.Errorf("the pages have %d objects, want %d", len(seen), all)
	}
}

// TestPagesAreSmall: a page stays below 2 MB, however many objects, connections and changes there are, and however long
// their texts are.
func TestPagesAreSmall(t *testing.T) {
	const most = 2_000_000
	x := manyObjects(20_000)
	for i := range 1000 {
		x.connections = append(x.connections, limit.State{Name: strings.Repeat("c", 3000), Calls: uint64(i)})
		must(t, x.changes.Record(t.Context(), changelog.Entry{
			Name: strings.Repeat("n", 3000), Error: strings.Repeat("e ", 6000),
		}))
	}
	s := signedIn(t, x)
	for _, path := range []string{"/", "/?state=All", "/?state=Failing&page=50", "/object/uid-drifted"} {
		if size := len(s.page(path)); size > most {
			t.Errorf("%s has %d bytes", path, size)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

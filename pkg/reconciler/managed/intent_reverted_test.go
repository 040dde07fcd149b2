package managed

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestAnAttemptThatWasNotCalled verifies that an attempt counts as not called only with the marks that this process
// has sent, or that were there before.
func TestAnAttemptThatWasNotCalled(t *testing.T) {
	sent := objectstate.Intent{Pending: later, Attempt: "b", Before: "a/failed"}
	cases := map[string]struct {
		reason           string
		pending, attempt string
		want             bool
	}{
		"Whole":          {"the write had its effect", later, "b", true},
		"Half":           {"the id was dropped, and the former one stayed", later, "a/failed", true},
		"AnotherTime":    {"it was begun at another time", early, "b", false},
		"AnotherAttempt": {"it is another attempt", later, "c", false},
		"None":           {"nothing is left of it", "", "", false},
	}
	for name, tc := range cases {
		for _, known := range [][]objectstate.Intent{{sent}, {{Pending: early, Attempt: "z"}, sent}} {
			p := passOf(marked(tc.pending, "", "", tc.attempt),
				remembering(objectstate.Attempts{Uncalled: known}))
			if got := p.uncalled(); got != tc.want {
				t.Errorf("%s: %s: not called is %t", name, tc.reason, got)
			}
		}
	}
	if passOf(marked(later, "", "", "b"), &objectState{}).uncalled() {
		t.Error("what this process knows nothing of was called by nobody")
	}
}

// TestIntentsAreRemembered verifies that the last 32 intents are remembered before they are sent, and a repeated
// attempt is not.
func TestIntentsAreRemembered(t *testing.T) {
	p := passOf(marked("", "", "", "a/failed"), &objectState{})
	p.intend()
	marks := p.mg.GetAnnotations()
	want := []objectstate.Intent{{
		Pending: marks[meta.AnnotationKeyExternalCreatePending],
		Attempt: marks[meta.AnnotationKeyCreateAttempt], Before: "a/failed",
	}}
	if diff := cmp.Diff(want, p.state.Uncalled); diff != "" || want[0].Pending != "2026-01-01T12:00:00Z" ||
		want[0].Attempt == "" {
		t.Errorf("marked %v, remembered -want +got:\n%s", marks, diff)
	}
	if got := p.intended(); got != (objectstate.Intent{Pending: want[0].Pending, Attempt: want[0].Attempt}) {
		t.Errorf("intended %+v", got)
	}
	for range 40 {
		p.intend()
	}
	last := p.state.Uncalled[len(p.state.Uncalled)-1]
	if n := len(p.state.Uncalled); n != 32 ||
		last.Pending != p.mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending] ||
		last.Pending == p.state.Uncalled[0].Pending {
		t.Errorf("%d intents are remembered, the last is %+v", n, last)
	}

	again := passOf(marked(early, "", "", "a"), &objectState{}, WithCreationTokens())
	if again.intend(); len(again.state.Uncalled) != 0 || again.intended().Attempt != "a" {
		t.Errorf("a repetition is remembered as one that was not called: %+v", again.state.Uncalled)
	}
	again.r.named = true
	if got := again.intended(); got != (objectstate.Intent{}) {
		t.Errorf("under a name of our choice %+v is intended", got)
	}
}

// TestAnIntentIsWithdrawn verifies that an intent that was not stored completely is reverted.
func TestAnIntentIsWithdrawn(t *testing.T) {
	const pending, attempt = meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCreateAttempt
	for name, before := range map[string]map[string]string{
		"nothing":  {"example.org/own": "1"},
		"a result": {pending: early, attempt: "a/failed", "example.org/own": "1"},
		"a time":   {pending: early, "example.org/own": "1"},
	} {
		c := &patchingClient{answer: func() error { return errors.New("boom") }}
		p := passOf(bearing(before), &objectState{})
		p.r.client, p.r.cluster = c, &liveCluster{}
		p.newest = bearing(before)
		p.intend()
		p.newest = clone(p.mg)
		if p.withdraw(t.Context(), before); !maps.Equal(p.mg.GetAnnotations(), before) {
			t.Errorf("%s: marked %v, want %v", name, p.mg.GetAnnotations(), before)
		}
		if len(c.sent) != 1 || !strings.Contains(c.sent[0], attempt) {
			t.Errorf("%s: sent %q", name, c.sent)
		}
	}
}

// TestAnnotationsThatAreSet verifies that only the annotations that a patch sets are compared, not those that it
// removes.
func TestAnnotationsThatAreSet(t *testing.T) {
	if diff := cmp.Diff(map[string]string{"a": "1", "b": ""},
		texts(map[string]any{"a": "1", "b": "", "c": nil})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	mg := bearing(map[string]string{"a": "1", "b": ""})
	for _, tc := range []struct {
		of   map[string]string
		want bool
	}{{map[string]string{"a": "2"}, false}, {map[string]string{"a": "1", "c": "1"}, true},
		{map[string]string{"b": "1"}, true}, {nil, false}} {
		if got := lacks(mg, tc.of); got != tc.want {
			t.Errorf("it lacks some of %v: %t", tc.of, got)
		}
	}
}

// A liveCluster shows one object as the API server has it.
type liveCluster struct {
	Cluster
	client.Reader

	shows resource.Managed
	asked int
}

func (c *liveCluster) GetAPIReader() client.Reader { return c }

func (c *liveCluster) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	c.asked++
	if c.shows == nil {
		return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, "data")
	}
	*o.(*fake.Managed) = *clone(c.shows).(*fake.Managed)

	return nil
}

// TestAnUnwrittenResultIsStored verifies that an unwritten result is stored as long as the object has the attempt
// without a result, or none of its marks.
func TestAnUnwrittenResultIsStored(t *testing.T) {
	const name, succeeded, attempt = meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt
	unwritten := map[string]string{name: "vol-1", succeeded: later, attempt: ownDone}
	body := `{"metadata":{"annotations":{"krateo.io/external-create-succeeded":"` + later +
		`","krateo.io/external-name":"vol-1","` + attempt + `":"` + ownDone + `"},` +
		`"resourceVersion":"7","uid":"uid-1"}}`
	with := func(key, value string, mg *fake.Managed) *fake.Managed {
		mg.Annotations[key] = value

		return mg
	}
	cases := map[string]struct {
		reason  string
		read    resource.Managed // by the pass
		live    resource.Managed
		called  string
		written bool
		forgot  bool // what could not be written
		failed  row
	}{
		"Pending": {"the attempt has no result", marked(early, "", "", ownID), marked(early, "", "", ownID),
			ownID, true, true, 0},
		"Another's": {"what was called since is another's", marked(early, "", "", ownID),
			marked(early, "", "", ownID), "other", true, true, 0},
		"Stored": {"it was stored all the same", marked(early, "", "", ownID),
			with(name, "vol-1", marked(early, later, "", ownDone)), ownID, false, true, 0},
		"Again": {"what is there is of the creation before", marked(early, "", "", ownID),
			with(name, "vol-0", marked(later, early, "", ownID)), ownID, true, true, 0},
		"HalfStored": {"its name was not", marked(early, "", "", ownID), marked(early, later, "", ownDone),
			ownID, true, true, 0},
		"Since": {"another attempt was begun since", marked(early, "", "", ownID),
			marked(later, "", "", "b"), ownID, false, true, 0},
		"Replaced": {"a replace took all", marked("", "", "", ""), marked("", "", "", ""), ownID, true, true,
			0},
		"ReplacedNow": {"a replace took it since it was read", marked(early, "", "", ownID),
			marked("", "", "", ""), ownID, false, false, recording},
		"OwnName": {"and left the name that it made", marked("", "", "", ""),
			with(name, "vol-1", marked("", "", "", "")), ownID, true, true, 0},
		"AnotherName": {"a user has chosen another name", marked("", "", "", ""),
			with(name, "vol-2", marked("", "", "", "")), ownID, false, true, 0},
		"AnotherRuntime": {"another runtime has begun", marked("", "", "", ""), marked(later, "", "", ""), ownID,
			false, true, 0},
		"Gone": {"the object cannot be read, and may be ready", marked(early, "", "", ownID), nil, ownID,
			false, false, rereading},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			read := clone(tc.read)
			read.SetUID(ownerUID)
			read.SetName("data")
			read.SetResourceVersion("7")
			c := &liveCluster{}
			if tc.live != nil {
				c.shows = clone(tc.live)
				c.shows.SetUID(ownerUID)
				c.shows.SetName("data")
				c.shows.SetResourceVersion("7")
			}
			p := passOf(read, remembering(objectstate.Attempts{
				Unwritten: maps.Clone(unwritten), Called: objectstate.Intent{Attempt: tc.called},
			}))
			writes := &patchingClient{answer: func() error { return nil }, stores: true}
			p.r.client, p.r.cluster, p.r.empty = writes, c, reflect.TypeFor[fake.Managed]()
			p.r.telemetry = p.r.newTelemetry()
			err := p.writeUnwritten(t.Context())
			if (err != nil) != (tc.failed != 0) || stageOf(err) != tc.failed {
				t.Errorf("%s: it ended with %v", tc.reason, err)
			}
			want := []string(nil)
			if tc.written {
				want = []string{body}
			}
			if diff := cmp.Diff(want, writes.sent); diff != "" {
				t.Errorf("%s: sent, -want +got:\n%s", tc.reason, diff)
			}
			if forgot := p.state.Unwritten == nil; forgot != tc.forgot {
				t.Errorf("%s: forgotten is %t", tc.reason, forgot)
			}
			if known := p.state.Called.Attempt != ""; known != (!tc.written || tc.called != ownID) {
				t.Errorf("%s: it is taken for an attempt whose result is not known: %t", tc.reason, known)
			}
		})
	}
	if err := passOf(bearing(nil), &objectState{}).writeUnwritten(t.Context()); err != nil {
		t.Errorf("where all was written it ended with %v", err)
	}
}

// TestAnUnwrittenResultIsGivenToTheAuthor verifies that an author's updater gets the object with the unwritten
// result.
func TestAnUnwrittenResultIsGivenToTheAuthor(t *testing.T) {
	unwritten := map[string]string{meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownDone}
	given := map[string]string{}
	w := newStored(marked(early, "", "", ownID),
		remembering(objectstate.Attempts{Unwritten: unwritten}),
		WithCriticalAnnotationUpdater(CriticalAnnotationUpdateFn(func(_ context.Context, o client.Object) error {
			given = o.GetAnnotations()

			return nil
		})))
	w.mg.SetName("data")
	w.liveCluster.shows.SetName("data")
	if err := w.writeUnwritten(t.Context()); err != nil || w.state.Unwritten != nil {
		t.Errorf("it ended with %v, and %v is not written", err, w.state.Unwritten)
	}
	for key, want := range unwritten {
		if given[key] != want || w.mg.GetAnnotations()[key] != want {
			t.Errorf("%s is %q for the author, and %q for the pass, want %q", key, given[key],
				w.mg.GetAnnotations()[key], want)
		}
	}
}

// TestUnheldCreations verifies that a removed finalizer is detected while a resource is being created, or is not
// observed yet.
func TestUnheldCreations(t *testing.T) {
	unseen, seen := &objectState{}, remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone}})
	cases := map[string]struct {
		reason string
		mg     *fake.Managed
		state  *objectState
		change func(*pass)
		unheld bool
	}{
		"Pending": {"nobody knows what it led to", marked(early, "", "", ownID), unseen, nil, true},
		"Unseen":  {"it does not show yet", marked(early, later, "", ownDone), unseen, nil, true},
		"Seen":    {"what shows is claimed again", marked(early, later, "", ownDone), seen, nil, false},
		"Failed":  {"what failed made nothing", marked(early, "", later, ownID+"/failed"), unseen, nil, false},
		"Nothing": {"nothing was created", marked("", "", "", ""), unseen, nil, false},
		"Others":  {"another runtime begun it", marked(early, "", "", ""), unseen, nil, false},
		"Held": {"it is still there", marked(early, "", "", ownID), unseen,
			func(p *pass) { p.mg.SetFinalizers([]string{FinalizerName}) }, false},
		"HeldByThem": {"another's does not keep it", marked(early, "", "", ownID), unseen,
			func(p *pass) { p.mg.SetFinalizers([]string{"example.org/held"}) }, true},
		"Named": {"under a name of our choice there is no such record", marked(early, "", "", ownID), unseen,
			func(p *pass) { p.r.named = true }, false},
		"Author": {"the author's has no name", marked(early, "", "", ownID), unseen,
			func(p *pass) { p.r.finalizer = resource.NewNopFinalizer() }, false},
		"Replaced": {"a replace wrote another name, which is not looked at yet",
			bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-9"}), seen, nil, true},
		"Deleted": {"what is deleted is let go", marked(early, "", "", ownID), unseen,
			func(p *pass) { p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, false},
	}
	for name, tc := range cases {
		tc.mg.SetUID(ownerUID)
		p := passOf(tc.mg, tc.state)
		if tc.change != nil {
			tc.change(p)
		}
		if got := p.finalizerRemovedByOthers(); got != tc.unheld {
			t.Errorf("%s: %s: unheld is %t", name, tc.reason, got)
		}
	}
}

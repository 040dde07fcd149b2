package managed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// seenOnce remembers that what the object is marked with was found.
func seenOnce() *objectState {
	return remembering(objectstate.Resource{
		Seen: objectstate.CreationRef{Name: "vol-1", Mark: ownDone}, Creation: ownDone,
	})
}

// made returns an object that is marked with a creation that succeeded.
func made() *fake.Managed {
	return bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-1"})
}

// TestWhatTakesThePlaceOfAnother verifies that a recreation is recognized for missing resources, depending on the
// class.
func TestWhatTakesThePlaceOfAnother(t *testing.T) {
	deleted := made()
	deleted.SetDeletionTimestamp(&metav1.Time{Time: noon})
	cases := map[string]struct {
		mg                 *fake.Managed
		state              *objectState
		findable, findless bool // whether it does if it can be looked up, and if it cannot
	}{
		"nothing was created":      {bearing(nil), &objectState{}, false, false},
		"it was not seen":          {made(), &objectState{}, true, true},
		"it was seen":              {made(), seenOnce(), true, false},
		"nobody knows what became": {marked(early, "", "", "a"), &objectState{}, false, false},
		"it goes":                  {deleted, &objectState{}, false, false},
	}
	for name, tc := range cases {
		p := passOf(tc.mg, tc.state)
		if got := p.unfound(); got != tc.findless {
			t.Errorf("%s: got %t where it cannot be looked up", name, got)
		}
		if p.recoverer = (searcher{}); p.unfound() != tc.findable {
			t.Errorf("%s: got %t where it can be looked up", name, p.unfound())
		}
	}
}

// TestRecreationIsReported verifies that a recreation is reported once, where the first resource was observed, or
// looked up and not found.
func TestRecreationIsReported(t *testing.T) {
	cases := map[string]struct {
		findable, named, seen, unfound bool
		before, after                  int
		want                           string
	}{
		"the first":   {},
		"it was seen": {seen: true, want: "was there and is not found any more"},
		"it was seen, and is looked up": {
			findable: true, seen: true, unfound: true, after: 1,
			want: "was there and is not found any more",
		},
		"it was not found": {
			findable: true, unfound: true, after: 1,
			want: "was created and is not found, neither by its name",
		},
		"it was not found again":               {findable: true, unfound: true, before: 1, after: 2},
		"it does not show":                     {unfound: true, after: 1},
		"it does not show again":               {unfound: true, before: 1, after: 1},
		"it is made again under its name":      {named: true, unfound: true, before: 1, after: 2},
		"it is another one, of which was told": {findable: true, before: 1, after: 1},
	}
	for name, tc := range cases {
		p := passOf(made(), remembering(objectstate.Attempts{Unfound: tc.before}))
		if p.r.named = tc.named; tc.findable {
			p.recoverer = searcher{}
		}
		p.recordRecreated("vol-1", tc.seen, tc.unfound)
		var reported []string
		for _, e := range p.events {
			reported = append(reported, fmt.Sprintf("%s/%s: %s", e.Type, e.Reason, e.Message))
		}
		text := strings.Join(reported, "\n")
		prefix := ""
		if tc.want != "" {
			prefix = string(event.TypeWarning) + `/ExternalResourceRecreated: the external resource "vol-1" ` + tc.want
		}
		if !strings.HasPrefix(text, prefix) || (text == "") != (tc.want == "") || len(reported) > 1 ||
			p.state.Unfound != tc.after {
			t.Errorf("%s: %d are not found, want %d; told %q, want %q", name, p.state.Unfound, tc.after, text, prefix)
		}
	}
}

// TestWhatIsWaitedForByItsID verifies that a recreation is requested by the id of the last creation, by its time,
// or by that of the original, and only where it is waited for.
func TestWhatIsWaitedForByItsID(t *testing.T) {
	const restored = "a-11111111"
	foreign := bearing(map[string]string{
		meta.AnnotationKeyExternalCreateSucceeded: later, meta.AnnotationKeyExternalName: "vol-1",
	})
	bySeen := remembering(objectstate.Resource{
		Seen: objectstate.CreationRef{Name: "vol-1", Mark: later}, Creation: later,
	})
	cases := map[string]struct {
		mg        *fake.Managed
		state     *objectState
		inherited string
		options   []ReconcilerOption
		id        string
		waiting   bool
	}{
		"what was seen": {made(), seenOnce(), "", []ReconcilerOption{WithRecreationOnRequest()},
			ownID, true},
		"of another runtime": {foreign, bySeen, "", []ReconcilerOption{WithRecreationOnRequest()}, later,
			true},
		"of another object": {made(), seenOnce(), restored,
			[]ReconcilerOption{WithRecreationOnRequest()}, restored, true},
		"not asked for": {made(), seenOnce(), "", nil, ownID, false},
		"under a name of our choice": {made(), seenOnce(), "",
			[]ReconcilerOption{WithRecreationOnRequest(), WithDeterministicExternalName(true)}, ownID, false},
		"what was not seen": {made(), &objectState{}, "", []ReconcilerOption{WithRecreationOnRequest()},
			ownID, false},
		"what was not seen, and copied": {made(), &objectState{}, restored,
			[]ReconcilerOption{WithRecreationOnRequest()}, restored, true},
	}
	for name, tc := range cases {
		p := passOf(tc.mg, tc.state, tc.options...)
		p.inherited = tc.inherited
		if got := p.creationID(); got != tc.id {
			t.Errorf("%s: the id is %q, want %q", name, got, tc.id)
		}
		if got := p.awaitsRequest(); got != tc.waiting {
			t.Errorf("%s: waits %t", name, got)
		}
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyAllowRecreation: tc.id})
		if p.awaitsRequest() {
			t.Errorf("%s: it waits although a user has asked for it", name)
		}
	}

	text := `the external resource "vol-1" was there and is not found any more: restore it, or set the annotation ` +
		meta.AnnotationKeyAllowRecreation +
		` to "` + ownID + `" to have another created`
	want := outcomeText{
		Name: "awaiting-request", Synced: "Synced False/RecreationNotRequested: " + text,
		Event: string(event.TypeWarning) + "/ExternalResourceMissing: " + text,
		Again: poll, Progress: stuck,
	}
	if diff := cmp.Diff(want, inFull(passOf(made(), seenOnce()).unrequested())); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

package managed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestWhatWasFoundIsRemembered verifies that an observed creation is remembered by its record; a resource without a
// record does not replace a known one.
func TestWhatWasFoundIsRemembered(t *testing.T) {
	before, made, called := objectstate.CreationRef{Mark: "a-0/succeeded",
		Name: "vol-0"}, objectstate.CreationRef{Mark: ownDone}, objectstate.Intent{Attempt: "a-2", Pending: early}
	own := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-1"}
	unmarked := map[string]string{meta.AnnotationKeyExternalName: "vol-1"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		named       bool
		seen, made  objectstate.CreationRef
		called      objectstate.Intent
	}{
		"marked": {own, false, objectstate.CreationRef{Name: "vol-1", Mark: ownDone}, objectstate.CreationRef{},
			objectstate.Intent{}},
		"unmarked": {unmarked, false, before, made, called},
		"named":    {unmarked, true, objectstate.CreationRef{Name: "vol-1"}, objectstate.CreationRef{}, called},
	} {
		p := passOf(bearing(tc.annotations),
			remembering(objectstate.Resource{Seen: before}, objectstate.Attempts{Called: called, Made: made}))
		p.r.named = tc.named
		p.rememberFound()
		if p.state.Seen != tc.seen || p.state.Made != tc.made || p.state.Called != tc.called || !p.seenOwned {
			t.Errorf("%s: found %t, seen %+v, made %+v, called %+v", name, p.seenOwned, p.state.Seen, p.state.Made,
				p.state.Called)
		}
	}
}

// TestRestoredFrom verifies that the takeover is offered for a resource of an object of the same place only.
func TestRestoredFrom(t *testing.T) {
	for found, want := range map[Stamp]bool{
		"there/g/K/apps/data/uid-0": true, "there/g/K/apps/data/uid-1": false, "there/g/K/apps/data/other-uid-1": true,
		"there/g/K/jobs/data/uid-0": false, "": false,
	} {
		mg := bearing(nil)
		mg.SetNamespace("apps")
		p := passOf(mg, &objectState{})
		p.r.of.Group, p.r.of.Kind = "g", "K"
		p.observation.OwnerStamp = found
		how := p.restoredFrom()
		if got := how != ""; got != want {
			t.Errorf("%q: told %t", found, got)
		}
		if text := fmt.Sprintf("set the annotation %s to %q, or to %q for all", meta.AnnotationKeyRestoredFrom,
			found, "there"); want && !strings.Contains(how, text) {
			t.Errorf("%q does not say %q", how, text)
		}
		if want && !strings.HasSuffix(how, "choose another name by the annotation "+meta.AnnotationKeyExternalName) {
			t.Errorf("%q does not end with how another name is chosen", how)
		}
	}
}

// TestWhenARestoreEnds verifies that a restore ends once the resource has the mark of the object, with one event
// for each.
func TestWhenARestoreEnds(t *testing.T) {
	from := map[string]string{meta.AnnotationKeyRestoredFrom: "there"}
	again := map[string]string{meta.AnnotationKeyRestoredFrom: "there", meta.AnnotationKeyRestored: string(ownerUID)}
	for name, tc := range map[string]struct {
		annotations map[string]string
		claimed     bool
		owner       Owner
		ends        bool
		reported    int
	}{
		"marked":              {from, false, OwnerOurs, true, 1},
		"marked in this pass": {from, true, OwnerOurs, false, 0},
		"not marked yet":      {from, false, OwnerOther, false, 0},
		"once more":           {again, false, OwnerOurs, true, 0},
		"nothing is said":     {nil, false, OwnerOurs, false, 0},
	} {
		p := passOf(bearing(tc.annotations), &objectState{})
		p.claimed, p.observation.Owner = tc.claimed, tc.owner
		p.endRestore()
		left, noted := p.mg.GetAnnotations()[meta.AnnotationKeyRestoredFrom],
			p.mg.GetAnnotations()[meta.AnnotationKeyRestored]
		if (left == "" && tc.annotations != nil) != tc.ends || (noted == string(ownerUID)) != tc.ends ||
			len(p.events) != tc.reported {
			t.Errorf("%s: annotations %v, %d events", name, p.mg.GetAnnotations(), len(p.events))
		}
	}
}

// TestWhatAnObjectShowsIsNoSecret verifies that values in metadata and spec are not redacted, but those of the
// status are.
func TestWhatAnObjectShowsIsNoSecret(t *testing.T) {
	const shown, hidden = "a-name-that-is-long", "a-secret-that-is-long"
	p := endingPass()
	p.read.SetFinalizers([]string{shown})
	says(p.read, 3, unsynced("Other", hidden))
	p.observedDetails = []ConnectionDetails{{"name": []byte(shown), "password": []byte(hidden)}}
	if got := p.mask().String(shown + " and " + hidden); got == "" || got[:len(shown)] != shown ||
		got[len(got)-len(hidden):] == hidden {
		t.Errorf("masked as %q", got)
	}
	if before := p.mask(); p.mask() != before {
		t.Error("a mask is made anew for the same secrets")
	}
}

// TestWhoWatchesReferentsNeedNotLook verifies that an object polls for a missing referent until it is watched.
func TestWhoWatchesReferentsNeedNotLook(t *testing.T) {
	waiting := external.Terminal("ReferenceNotReady", errors.New("not yet"))
	p := endingPass()
	if o := p.failureOutcome(waiting); o.requeue != backoff {
		t.Errorf("nobody watches: %+v", inFull(o))
	}
	p.r.References(nil)
	if o := p.failureOutcome(waiting); o.requeue != resync {
		t.Errorf("it is watched: %+v", inFull(o))
	}
}

package managed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/objectstate"
)

// TestWhatEndsADoubt verifies that a request of a user ends the grace periods, except for attempts with a lookup,
// and that an owned observation ends the doubt of a deleted object.
func TestWhatEndsADoubt(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		finds, asked    bool
		exists, foreign bool
		deleted         bool
		unfound         int
		since           time.Time
	}{
		"Missing": {reason: "nothing was found", unfound: 3, since: noon},
		"Asked":   {reason: "a user asks to try again", asked: true, since: noon},
		"Findable": {
			reason: "what was created is looked up, however often a user asks", finds: true,
			asked: true, unfound: 3, since: noon,
		},
		"Found":   {reason: "it is there", exists: true},
		"Strange": {reason: "what another has is no loss of this object's", exists: true, foreign: true},
		"Disputed": {
			reason: "what was ours and is another's now is looked at once more", exists: true,
			foreign: true, deleted: true, since: noon,
		},
		"Ours": {reason: "what is to be deleted is there, and ours", exists: true, deleted: true},
	} {
		mg := bearing(nil)
		if tc.deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		p := passOf(mg, remembering(objectstate.Attempts{Unfound: 3},
			objectstate.Deletion{NotFoundSince: noon, NotFoundName: "vol-1"}))
		p.observation.ResourceExists = tc.exists
		if tc.finds {
			p.recoverer = searcher{}
		}
		if tc.asked {
			p.requested = "now"
		}
		if p.clearDoubts(tc.foreign); p.state.Unfound != tc.unfound || !p.state.NotFoundSince.Equal(tc.since) {
			t.Errorf("%s: %s: %d are not found, doubted since %s", name, tc.reason, p.state.Unfound,
				p.state.NotFoundSince)
		}
	}
}

package statuspage

import (
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestStateOf: the state of an object follows from its conditions.
func TestStateOf(t *testing.T) {
	for name, want := range map[string]state{
		"well": well, "drifted": differs, "deleted": deleting, "fresh": pending, "creating": notReady, "broken": failing,
		"throttled": waiting, "resting": paused,
	} {
		for _, o := range example().objects {
			if got, cause := stateOf(o); o.GetName() == name && (got != want || since(o, cause).IsZero()) {
				t.Errorf("%s is %s since %s, want %s", name, got, since(o, cause), want)
			}
		}
	}
	stalled := newBucket("stalled", commonv1.Condition{Type: commonv1.TypeStalled, Status: "True", Reason: "Bad"})
	if got, cause := stateOf(stalled); got != failing || cause.Type != commonv1.TypeStalled {
		t.Errorf("a stalled object is %s by %s", got, cause.Type)
	}
}

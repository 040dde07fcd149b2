package managed

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestASinkThatPanicsHasFailed verifies that a panic of a change log sink is logged as its error.
func TestASinkThatPanicsHasFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		sink changelog.SinkFunc
		want string
	}{
		"stores": {func(context.Context, changelog.Entry) error { return nil }, ""},
		"fails":  {func(context.Context, changelog.Entry) error { return errors.New("disk full") }, "disk full"},
		"panics": {func(context.Context, changelog.Entry) error { panic("disk full") }, "the sink panicked: disk full"},
	} {
		err := passOf(bearing(nil), &objectState{}, WithChangeLog(tc.sink)).send(t.Context(), changelog.Entry{})
		if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestTheLastMomentOfASearch verifies that the recovery window includes its last moment, and that a valid interval
// causes no event.
func TestTheLastMomentOfASearch(t *testing.T) {
	mg := bearing(nil)
	mg.SetConditions(commonv1.Condition{
		Type: commonv1.TypeReady, Status: metav1.ConditionFalse,
		LastTransitionTime: metav1.Time{Time: noon},
	})
	p := passOf(mg, &objectState{})
	p.recoveryGrace = 1
	if got := p.delay(untilGrace); got != 1 || p.state.Backoffs != 1 {
		t.Errorf("it is looked for again after %s, for the %d. time", got, p.state.Backoffs)
	}
	p.state.LastBadInterval = "often"
	meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyPollInterval: "1m"})
	if p.checkPollInterval(); p.state.LastBadInterval != "" {
		t.Errorf("%q is remembered", p.state.LastBadInterval)
	}
}

package managed

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// A user gives up the last attempt, and no other: one whose result is not known, or that has
// made something whose name is not known, for an object that is deleted.
func TestWhatIsGivenUp(t *testing.T) {
	cases := map[string]struct {
		reason  string
		attempt string
		given   string
		deleted bool
		name    string
		want    bool
	}{
		"Unknown":           {"nobody knows its result", "a", "a", false, "", true},
		"UnknownDeleted":    {"nor when the object is deleted", "a", "a", true, "vol-1", true},
		"Another":           {"it is about an attempt before", "b", "a", false, "", false},
		"Nothing":           {"there is none", "", "", false, "", false},
		"NotGivenUp":        {"nobody says so", "a", "", false, "", false},
		"Failed":            {"it is known to have made nothing", "a/failed", "a", true, "", false},
		"Succeeded":         {"what it has made is wanted", "a/succeeded", "a", false, "", false},
		"SucceededNamed":    {"what it has made can be deleted", "a/succeeded", "a", true, "vol-1", false},
		"SucceededNameless": {"what it has made cannot be found", "a/succeeded", "a", true, "", true},
	}
	for name, tc := range cases {
		mg := marked(early, "", "", tc.attempt)
		if tc.given != "" {
			meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyAbandonAttempt: tc.given})
		}
		if tc.name != "" {
			meta.SetExternalName(mg, tc.name)
		}
		if tc.deleted {
			mg.SetDeletionTimestamp(new(metav1.NewTime(noon)))
		}
		if got := abandoned(mg); got != tc.want {
			t.Errorf("%s: %s: given up %t", name, tc.reason, got)
		}
	}
}

// An attempt whose result is lost has failed, for runtimes that know only times, when it was
// begun or later, whatever the clock says; unless the call was cut off, which tells them nothing.
func TestWhatIsLostHasATime(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}

		return when
	}
	cases := map[string]struct {
		err  error
		now  string
		want string
	}{
		"Later":      {errors.New("500"), later, later},
		"ClockReset": {errors.New("500"), "2025-01-01T00:00:00Z", early},
		"CutOff":     {context.DeadlineExceeded, later, ""},
	}
	for name, tc := range cases {
		mg := marked(early, "", "", "a")
		markUnknown(mg, tc.err, at(tc.now))
		if got := mg.Annotations[meta.AnnotationKeyExternalCreateFailed]; got != tc.want {
			t.Errorf("%s: it failed at %q, want %q", name, got, tc.want)
		}
		if got := mg.Annotations[meta.AnnotationKeyCreateAttempt]; got != "a" || !unresolved(mg) {
			t.Errorf("%s: the attempt is %q, unresolved %t", name, got, unresolved(mg))
		}
	}
}

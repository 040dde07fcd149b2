package managed

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestWhatIsGivenUp verifies that a user abandons only the last attempt: one with an unknown result, or one of a
// deleted object whose resource has an unknown name.
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

// TestWhatIsLostHasATime verifies that an attempt with a lost result has a failure time not before its pending
// time, for runtimes that read only times; unless the call was cut off.
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
		if got := mg.Annotations[meta.AnnotationKeyCreateAttempt]; got != "a" || !ownUnresolved(mg) {
			t.Errorf("%s: the attempt is %q, unresolved %t", name, got, ownUnresolved(mg))
		}
	}
}

package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

const (
	early = "2026-01-01T00:00:00Z"
	later = "2026-01-01T00:00:01Z"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func marked(pending, succeeded, failed, attempt string) *fake.Managed {
	return testworld.Marked(pending, succeeded, failed, attempt)
}

func TestMarks(t *testing.T) {
	cases := map[string]struct {
		reason     string
		mg         *fake.Managed
		unresolved bool
		created    string
	}{
		"New":     {"nothing happened yet", marked("", "", "", ""), false, ""},
		"Pending": {"it was begun", marked(early, "", "", "a"), true, ""},
		"Succeeded": {"it succeeded, within the same second", marked(early, early, "", "a/succeeded"), false,
			"a/succeeded"},
		"Failed": {"it failed, within the same second", marked(early, "", early, "a/failed"), false, ""},
		"CrashInRetry": {"the retry was begun in the second in which the first attempt failed",
			marked(early, "", early, "b"), true, ""},
		"PendingRemoved":  {"a user says that it is safe", marked("", "", "", "a"), false, ""},
		"Unparsable":      {"what is no time was never begun", marked("yesterday", "", "", "a"), false, ""},
		"SecondFailed":    {"an older success does not count", marked(later, early, later, "b/failed"), false, ""},
		"OthersPending":   {"another runtime begun it", marked(later, early, "", ""), true, early},
		"OthersSucceeded": {"another runtime succeeded", marked(early, later, "", ""), false, later},
		"OthersFailedLast": {"another runtime failed after it had succeeded", marked(early, early, later, ""),
			false, ""},
		"OthersAfterOurs": {"another runtime began one after ours", marked(later, early, "", "a/succeeded"), true,
			"a/succeeded"},
		"SuccessTaken": {"a user removed the mark of the success alone, and its result stays",
			marked(early, "", "", "a/succeeded"), false, "a/succeeded"},
		"FailureTaken": {"the same of a failure", marked(early, "", "", "a/failed"), false, ""},
		"OthersAfterFailed": {"another runtime began one after ours had failed",
			marked(later, "", early, "a/failed"), true, ""},
		"OthersFuture": {"a clock that is ahead delays nobody", marked(early, "2126-01-01T00:00:00Z", "", ""),
			false, "2126-01-01T00:00:00Z"},
		"AdoptedAfterwards": {"an adoption has no attempt", marked("", later, "", ""), false, later},
	}
	for name, tc := range cases {
		if got := OwnUnresolved(tc.mg); got != tc.unresolved {
			t.Errorf("%s: %s: unresolved %t, want %t", name, tc.reason, got, tc.unresolved)
		}
		if got := CreationMark(tc.mg); got != tc.created {
			t.Errorf("%s: %s: created %q, want %q", name, tc.reason, got, tc.created)
		}
	}
}

func TestAbandonment(t *testing.T) {
	for abandoned, want := range map[string]bool{"": true, "a": false, "b": true} {
		mg := marked(early, "", "", "a")
		mg.Annotations[meta.AnnotationKeyAbandonAttempt] = abandoned
		if got := OwnUnresolved(mg); got != want {
			t.Errorf("abandoned %q: unresolved %t, want %t", abandoned, got, want)
		}
	}
}

func TestMarksWhateverTheClockSays(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mg := marked("", "", early, "a/failed")
	MarkPending(mg, "b", now)
	if !meta.ExternalCreateIncomplete(mg) {
		t.Errorf("a runtime that knows only times does not see the attempt: %v", mg.Annotations)
	}
	MarkResult(mg, Succeeded, now.Add(-time.Hour)) // the clock was set back
	if meta.ExternalCreateIncomplete(mg) || OwnUnresolved(mg) || CreationMark(mg) != "b/succeeded" {
		t.Errorf("the result is not seen: %v", mg.Annotations)
	}
	first := meta.GetExternalCreatePending(mg)
	MarkPending(mg, "b", now.Add(-time.Hour))
	if again := meta.GetExternalCreatePending(mg); !again.After(first) {
		t.Errorf("that the attempt was begun again does not show: %s and %s", first, again)
	}
	other := marked(early, "", "", "")
	MarkResult(other, Succeeded, now)
	if _, ok := other.Annotations[meta.AnnotationKeyCreateAttempt]; ok || OwnUnresolved(other) {
		t.Errorf("an attempt of another runtime got an id: %v", other.Annotations)
	}
}

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
		if got := Abandoned(mg); got != tc.want {
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
		MarkUnknown(mg, tc.err, at(tc.now))
		if got := mg.Annotations[meta.AnnotationKeyExternalCreateFailed]; got != tc.want {
			t.Errorf("%s: it failed at %q, want %q", name, got, tc.want)
		}
		if got := mg.Annotations[meta.AnnotationKeyCreateAttempt]; got != "a" || !OwnUnresolved(mg) {
			t.Errorf("%s: the attempt is %q, unresolved %t", name, got, OwnUnresolved(mg))
		}
	}
}

// TestTimeOf verifies that the number of an id bounds the time of its
func TestTimeOf(t *testing.T) {
	number := func(of time.Time) string { return fmt.Sprintf("%08x00000000-00000000", of.Unix()) }
	for id, tc := range map[string]struct {
		id   string
		want time.Time
	}{
		"Now": {number(noon), noon}, "Past": {number(noon.Add(-time.Hour)), noon.Add(-time.Hour)},
		"First":  {number(time.Unix(0, 0)), time.Unix(0, 0)},
		"Ahead":  {number(noon.Add(24 * time.Hour)), noon.Add(24 * time.Hour)},
		"Random": {number(noon.Add(24*time.Hour + time.Second)), time.Time{}},
		"None":   {"", time.Time{}}, "NotOurs": {"x", time.Time{}},
	} {
		if got := TimeOf(tc.id, noon); !got.Equal(tc.want) {
			t.Errorf("%s: got %s, want %s", id, got, tc.want)
		}
	}
}

package meta_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// longest is the greatest length of a message for a user, whatever the user wrote.
const longest = 1024

// FuzzTimes reads arbitrary marks, and writes marks of any
// time: a time that was read can be written and is the same, and a creation that begins
// later than all marks is incomplete.
func FuzzTimes(f *testing.F) {
	f.Add("", "", "", int64(0), "")
	f.Add("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+01:00", "2026-01-02T03:04:04Z", int64(1795181411), "90s")
	f.Add("9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00Z", "never", int64(1)<<40, "-1ns")
	f.Add("\x00", "2026-02-30T25:61:61Z", "2026-01-02T03:04:05.999999999Z", int64(-1)<<62, strings.Repeat("9", 400)+"h")
	f.Fuzz(func(t *testing.T, pending, succeeded, failed string, second int64, interval string) {
		o := &metav1.ObjectMeta{Annotations: map[string]string{
			meta.AnnotationKeyExternalCreatePending: pending, meta.AnnotationKeyExternalCreateSucceeded: succeeded,
			meta.AnnotationKeyExternalCreateFailed: failed, meta.AnnotationKeyPollInterval: interval,
		}}
		if d, set, err := meta.GetPollInterval(o); d < 0 || set != (interval != "") ||
			(d > 0) != (set && err == nil) || err != nil && len(err.Error()) > longest {
			t.Errorf("poll interval %q is %s, set %t: %v", interval, d, set, err)
		}
		first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		written := func(at time.Time) time.Time {
			meta.SetExternalCreatePending(o, at)

			return meta.GetExternalCreatePending(o)
		}
		latest := time.Unix(second, 0)
		if got := written(latest); got.Before(first) || got.After(last) ||
			latest.After(first) && latest.Before(last) && !got.Equal(latest) {
			t.Errorf("%s is read as %s", latest, got)
		}
		o.Annotations[meta.AnnotationKeyExternalCreatePending] = pending
		for _, mark := range []time.Time{meta.GetExternalCreatePending(o), meta.GetExternalCreateSucceeded(o),
			meta.GetExternalCreateFailed(o)} {
			if want := mark.Truncate(time.Second); !mark.After(last) && !mark.Before(first) &&
				!written(mark).Equal(want) {
				t.Errorf("%s is written as %q", mark, o.Annotations[meta.AnnotationKeyExternalCreatePending])
			}
			if mark.After(latest) {
				latest = mark
			}
		}
		begun := written(latest.Add(time.Second))
		if !latest.Add(time.Second).After(last) && !latest.Before(first) &&
			(!begun.After(latest.Truncate(time.Second)) || !meta.ExternalCreateIncomplete(o)) {
			t.Errorf("a creation that begins at %s is not open: %v", begun, o.Annotations)
		}
	})
}

// FuzzPolicies: of arbitrary values of policies, an unknown value permits nothing, and gives a short error.
func FuzzPolicies(f *testing.F) {
	for _, management := range []string{"", "default", "observe", "observe-delete", "observe-create-update",
		"Observe", "observe ", "\x00", strings.Repeat("ö", 300)} {
		for _, deletion := range []string{"", "orphan", "delete", "ORPHAN"} {
			f.Add(management, deletion, "if-unowned", "true")
			f.Add(management, deletion, "forced", "\xff")
		}
	}
	f.Fuzz(func(t *testing.T, management, deletion, adoption, paused string) {
		o := &metav1.ObjectMeta{Annotations: map[string]string{
			meta.AnnotationKeyManagementPolicy: management, meta.AnnotationKeyDeletionPolicy: deletion,
			meta.AnnotationKeyAdoptionPolicy: adoption, meta.AnnotationKeyReconciliationPaused: paused,
		}}
		known := slices.Contains([]string{"", "default", "observe", "observe-delete", "observe-create-update"},
			management) &&
			slices.Contains([]string{"", "orphan", "delete"}, deletion) &&
			slices.Contains([]string{"", "never", "if-unowned", "if-matching", "force"}, adoption)
		err := meta.ValidatePolicies(o)
		if (err == nil) != known {
			t.Errorf("%v: %v", o.Annotations, err)
		}
		if err != nil && (len(err.Error()) > longest || !utf8.ValidString(err.Error())) {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		may := map[string]bool{
			"create": meta.ShouldCreate(o), "update": meta.ShouldUpdate(o),
			"delete": meta.ShouldDelete(o), "adopt": meta.ShouldAdopt(o),
		}
		want := map[string]bool{
			"create": known && slices.Contains([]string{"", "default", "observe-create-update"}, management),
			"update": known && slices.Contains([]string{"", "default", "observe-create-update"}, management),
			"delete": known && slices.Contains([]string{"", "default", "observe-delete"}, management) &&
				deletion != "orphan",
			"adopt": known && slices.Contains([]string{"if-unowned", "force"}, adoption),
		}
		for what, permitted := range want {
			if may[what] != permitted {
				t.Errorf("%s is permitted: %t, want %t: %v", what, may[what], permitted, o.Annotations)
			}
		}
		if meta.IsPaused(o) != (paused == "true") {
			t.Errorf("paused %q: %t", paused, meta.IsPaused(o))
		}
	})
}

package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestABeginningIsLaterThanTheLast verifies that a repeated attempt has a later pending time, within the same
// second and with a clock that was set back, so that a late result of the first one is recognized as older.
func TestABeginningIsLaterThanTheLast(t *testing.T) {
	for name, after := range map[string]time.Duration{"AtOnce": 0, "ClockSetBack": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithCreationTokens())
			w.cloud.Tokens = true
			w.cloud.Before = failing("Create", context.DeadlineExceeded)
			w.create(nil)
			if _, err := w.try(); err == nil {
				t.Fatal("no error")
			}
			first := w.get()
			w.clock.SetTime(w.clock.Now().Add(after))
			_, _ = w.try()
			again := w.get()
			if one, other := meta.GetExternalCreatePending(first), meta.GetExternalCreatePending(again); one.IsZero() ||
				!other.After(one) {
				t.Errorf("begun at %s, and again at %s", one, other)
			}
			const attempt = meta.AnnotationKeyCreateAttempt
			if one, other := first.Annotations[attempt], again.Annotations[attempt]; one == "" || other != one {
				t.Errorf("the attempt is %q, and %q when it is begun again", one, other)
			}
		})
	}
}

// TestAResultDeniesALaterBeginning verifies that the result of a Create is stored with the pending time of another
// process that began the same attempt meanwhile; otherwise the resource would be created again.
func TestAResultDeniesALaterBeginning(t *testing.T) {
	w := newWorld(t, managed.WithCreationTokens(), managed.WithCreationGracePeriod(time.Minute))
	w.cloud.Hidden = func(string) bool { return true }
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			w.change(func(v *volume.Volume) { meta.SetExternalCreatePending(v, w.clock.Now().Add(time.Hour)) })
		}

		return nil
	}
	w.create(nil)
	w.pass()
	if v := w.get(); meta.ExternalCreateIncomplete(v) {
		t.Errorf("a runtime that knows only times takes the creation for incomplete: %v", v.Annotations)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.pass()
	if n := w.cloud.Count("Create"); n != 1 {
		t.Errorf("%d creates", n)
	}
}

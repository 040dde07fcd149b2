package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhatAFailedOperationSaysOfTheCreation verifies that the failed operation of a creation that certainly made
// nothing reverts the creation, so that the next pass creates without a grace period. After any other failure the
// result is unknown until the grace period is over.
func TestWhatAFailedOperationSaysOfTheCreation(t *testing.T) {
	cases := map[string]struct {
		reason  string
		named   bool
		failed  error
		attempt string // how it ended, as the object says it
		at      [2]int // how many creates there are after the next pass, and after the grace period
	}{
		"Assigned/NotCreated": {"it is recorded, so that another process knows it", false,
			external.NotCreated(errors.New("no space")), "/failed", [2]int{2, 2}},
		"Chosen/NotCreated": {"it may be repeated at once", true, external.NotCreated(errors.New("no space")), "",
			[2]int{2, 2}},
		"Assigned/Terminal": {"what it was called is not known, and nothing is created again", false,
			external.Terminal("Quota", errors.New("no space")), "/succeeded", [2]int{1, 1}},
		"Chosen/Terminal": {"it may be repeated when it does not show", true,
			external.Terminal("Quota", errors.New("no space")), "", [2]int{1, 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, c := newOperations(t, managed.WithDeterministicExternalName(tc.named))
			w.create(nil)
			w.pass()
			c.left, c.failed = 1, tc.failed
			_, _ = w.try()
			marks := w.get().Annotations
			if _, kept := marks[meta.AnnotationKeyOperation]; kept {
				t.Errorf("%s: the operation has ended, and its annotation is kept: %v", tc.reason, marks)
			}
			if _, result, _ := strings.Cut(marks[meta.AnnotationKeyCreateAttempt],
				"/"); result != strings.TrimPrefix(tc.attempt, "/") {
				t.Errorf("%s: the attempt is recorded as %q", tc.reason, marks[meta.AnnotationKeyCreateAttempt])
			}
			c.failed = nil
			c.left = 10 // what is created again takes its time
			_, _ = w.try()
			before := c.n
			w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
			_, _ = w.try()
			if got := [2]int{before, c.n}; got != tc.at {
				t.Errorf("%s: %v creates, want %v", tc.reason, got, tc.at)
			}
		})
	}
}

// TestWhoseAnswerTakesNoCreationBack verifies that NotCreated reverts a creation only if it is about the operation
// of one.
func TestWhoseAnswerTakesNoCreationBack(t *testing.T) {
	t.Run("a look", func(t *testing.T) {
		w := newWorld(t, managed.WithCreationGracePeriod(0))
		w.create(nil)
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" && len(w.cloud.Disks()) > 0 {
				return external.NotCreated(errors.New("never heard of it"))
			}

			return nil
		}
		for range 3 {
			if _, err := w.try(); err == nil {
				t.Error("the failure is not told")
			}
		}
		if marks := w.get().Annotations; !strings.HasSuffix(marks[meta.AnnotationKeyCreateAttempt], "/succeeded") {
			t.Errorf("the creation is recorded as %q", marks[meta.AnnotationKeyCreateAttempt])
		}
		w.cloud.Before = nil
		w.pass()
		if disks := w.cloud.Disks(); len(disks) != 1 {
			t.Errorf("there are %v", disks)
		}
	})
	t.Run("an update", func(t *testing.T) {
		w, c := newOperations(t, managed.WithDeterministicExternalName(false))
		w.create(nil)
		w.pass()
		c.left = 1
		w.pass()
		w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
		w.pass()
		c.left, c.failed = 1, external.NotCreated(errors.New("no space"))
		if _, err := w.try(); err == nil {
			t.Error("the failure is not told")
		}
		marks := w.get().Annotations
		if _, kept := marks[meta.AnnotationKeyOperation]; kept ||
			!strings.HasSuffix(marks[meta.AnnotationKeyCreateAttempt], "/succeeded") {
			t.Errorf("after the update has failed: %v", marks)
		}
	})
}

// TestAnUnstorableResultIsReported verifies that the result of a call is retried for 25 seconds, less than the 30
// that a manager waits, and then reported.
func TestAnUnstorableResultIsReported(t *testing.T) {
	for marked, begin := range map[string]func(*testing.T) *world{
		meta.AnnotationKeyOperation: func(t *testing.T) *world {
			t.Helper()
			w, c := newOperations(t)
			w.create(nil)
			w.pass()
			c.left = 1
			w.pass()
			w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })

			return w
		},
		"/succeeded": func(t *testing.T) *world {
			t.Helper()
			w := newWorld(t)
			w.create(nil)

			return w
		},
	} {
		triedFor(t, marked, begin)
	}
}

// triedFor has a pass store what an API server does not take that is marked so.
func triedFor(t *testing.T, marked string, begin func(*testing.T) *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, tries := begin(t), 0
		w.answer = func(_ context.Context, note string) error {
			if !strings.Contains(note, marked) {
				return nil
			}
			tries++

			return errLost
		}
		begun := time.Now()
		_, err := w.try()
		if took := time.Since(begun).Round(time.Second); took != 25*time.Second || tries < 5 ||
			!errors.Is(err, errLost) {
			t.Errorf("tried %d times for %s, and ended with %v", tries, took, err)
		}
	})
}

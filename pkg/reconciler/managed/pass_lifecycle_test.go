package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	intent = "patch"
	result = "patch"
	status = "patch status"
)

func TestRequestBudgetOfALifecycle(t *testing.T) {
	w := newWorld(t)
	w.create(nil)

	if got := w.pass().RequeueAfter; got != time.Minute {
		t.Errorf("ready: next pass after %s, want the poll interval", got)
	}
	w.expect(intent+", "+result+", "+status, "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	w.condition("Ready", "True/Available")
	w.condition("Synced", "True/ReconcileSuccess")
	v := w.get()
	if !meta.FinalizerExists(v, managed.FinalizerName) || meta.GetExternalName(v) != "vol-1" || v.Status.ID != "vol-1" {
		t.Errorf("created: finalizers %v, external name %q, id %q", v.Finalizers, meta.GetExternalName(v), v.Status.ID)
	}

	for range 3 {
		w.pass()
	}
	w.expect("", strings.TrimSpace(strings.Repeat("Connect Observe ", 3)), "")

	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.pass()
	w.expect(status, "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	w.condition("Synced", "True/ReconcileSuccess")
	w.condition("Ready", "True/Available")

	w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 7})
	w.pass()
	w.expect("", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")

	w.delete()
	w.pass()
	w.expect("patch", "Connect Observe Delete Observe", "Normal/DeletedExternalResource")
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("deleted: object gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
	if got := w.pass(); !got.IsZero() {
		t.Errorf("gone: next pass %v", got)
	}
}

func TestANameOfOurOwnChoiceNeedsNoMarks(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.create(nil)
	w.pass()
	w.expect("patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if got := meta.GetExternalName(w.get()); got != key.Name {
		t.Errorf("external name %q, want that of the object", got)
	}
	if v := w.get(); !meta.GetExternalCreatePending(v).IsZero() || !meta.GetExternalCreateSucceeded(v).IsZero() {
		t.Errorf("marks of a creation that needs none: %v", v.Annotations)
	}
}

func TestARepeatedFailureIsReportedOnce(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.cloud.Before = failing("Create", errors.New("quota exceeded"))
	w.create(nil)
	for range 4 {
		if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "create failed: quota exceeded") {
			t.Fatalf("error %v", err)
		}
	}
	w.expect("patch, patch status", strings.TrimSpace(strings.Repeat("Connect Observe Create ", 4)),
		"Warning/CannotCreateExternalResource")
	w.condition("Synced", "False/ReconcileError")
	w.condition("Ready", "False/Creating")

	w.restart()
	_, _ = w.try()
	w.expect("", "Connect Observe Create", "")

	w.cloud.Before = nil
	w.pass()
	w.expect(status, "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	w.condition("Ready", "True/Available")
}

func TestAFailedCreateIsMarkedAndRepeated(t *testing.T) {
	w := newWorld(t)
	w.cloud.Before = failing("Create", external.NotCreated(errors.New("bad request")))
	w.create(nil)
	for range 2 {
		if _, err := w.try(); err == nil {
			t.Fatal("no error")
		}
	}
	w.expect("patch, patch, patch status, patch, patch", "Connect Observe Create Connect Observe Create",
		"Warning/CannotCreateExternalResource")
	if meta.GetExternalCreateFailed(w.get()).IsZero() {
		t.Error("the failure is not marked")
	}
	w.cloud.Before = nil
	w.pass()
	w.condition("Ready", "True/Available")
}

func TestPauseStopsEverything(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) {
		v.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	})
	for range 3 {
		if got := w.pass().RequeueAfter; got != 10*time.Minute {
			t.Errorf("paused: next pass after %s, want ten polls", got)
		}
	}
	w.expect(status, "", "Normal/ReconciliationPaused")
	w.condition("Synced", "False/ReconcilePaused")

	w.change(func(v *volume.Volume) { v.Annotations = nil })
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
}

func TestADeletionThatTakesTimeIsAskedForOnce(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Delete" {
			return errSwallow
		}

		return nil
	}
	w.cloud.Swallow = errSwallow
	w.delete()
	var delays []time.Duration
	for range 8 {
		d := w.pass().RequeueAfter
		delays = append(delays, d)
		if d <= 0 {
			t.Fatalf("delays %v", delays)
		}
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	}
	_, calls, events := w.taken()
	if n := strings.Count(calls, "Delete"); n != 1 || events != "Normal/DeletedExternalResource" {
		t.Errorf("%d deletes, events %q", n, events)
	}
	if delays[0] != time.Second || delays[7] < 3*time.Second || delays[7] > 4*time.Second {
		t.Errorf("delays %v, want growing from a second to a tenth of the time that it has taken", delays)
	}
	w.condition("Ready", "False/Deleting")

	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	w.cloud.Before = nil
	w.pass()
	w.expect("patch", "Connect Observe Delete Observe", "")
	if !w.gone() {
		t.Error("the object is not gone")
	}
}

var errSwallow = errors.New("swallowed")

func failing(call string, err error) func(context.Context, string, resource.Managed) error {
	return func(_ context.Context, c string, _ resource.Managed) error {
		if c == call {
			return err
		}

		return nil
	}
}

func TestATerminalErrorIsNotRepeatedSoon(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	w.cloud.Before = failing("Update", external.Terminal("ImmutableField",
		errors.New("sizeGiB cannot be changed: create a new volume")))
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	for range 2 {
		got, err := w.try()
		if err != nil || got.RequeueAfter != 10*time.Minute {
			t.Errorf("result %v, error %v, want a slow re-check", got, err)
		}
	}
	w.expect(status, "Connect Observe Update Connect Observe Update", "Warning/CannotUpdateExternalResource")
	w.condition("Synced", "False/ImmutableField")
	w.condition("UpToDate", "False/UpdateFailed")
	w.condition("Ready", "True/Available")
}

func TestAChangeThatDoesNotShowIsRepeatedEverMoreSlowly(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Update" {
			w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 9})
		}

		return nil
	}
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	var delays []time.Duration
	for range 4 {
		delays = append(delays, w.pass().RequeueAfter)
	}
	w.expect("patch status, patch status", strings.TrimSpace(strings.Repeat("Connect Observe Update Observe ", 4)),
		"Normal/UpdatedExternalResource, Warning/ExternalResourceKeepsChanging")
	for i, d := range delays {
		if want := time.Second << i; d != want {
			t.Errorf("delay %d: %s, want %s", i, d, want)
		}
	}
	w.condition("Synced", "True/ReconcileSuccess")
	w.condition("UpToDate", "False/UpdateRequested")

	w.cloud.After = nil
	w.pass()
	w.condition("UpToDate", "True/ObserveMatched")
}

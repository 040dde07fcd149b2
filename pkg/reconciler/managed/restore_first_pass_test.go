package managed_test

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestASystemThatWasTakenFromTheObjectIsKnown verifies that a removed backend identity is remembered: another
// system is rejected, and the identity restored.
func TestASystemThatWasTakenFromTheObjectIsKnown(t *testing.T) {
	w := newWorld(t)
	w.cloud.Account = "blue"
	w.create(nil)
	w.pass()
	w.pass()
	w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, meta.AnnotationKeyBackendIdentity) })
	w.cloud.Account = "green"
	_, _ = w.try()
	w.condition("Synced", "False/BackendChanged")
	if got := w.get().Annotations[meta.AnnotationKeyBackendIdentity]; got != "blue" {
		t.Errorf("the object says that its resource is in %q", got)
	}
	if w.cloud.Count("Create") != 1 {
		t.Errorf("calls %v", w.cloud.Calls())
	}
}

// TestAFinalizerThatWasTakenIsPutBackFirst verifies that a removed finalizer of an unobserved creation is restored
// before any external call.
func TestAFinalizerThatWasTakenIsPutBackFirst(t *testing.T) {
	w := newWorld(t)
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Finalizers = nil })
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" && !meta.FinalizerExists(w.get(), managed.FinalizerName) {
			t.Error("observed while nothing keeps the object")
		}

		return nil
	}
	w.taken()
	w.pass()
	w.expect("patch", look, "")
}

// TestTheRecordOfWhatDoesNotShowIsPutBack verifies that a finished creation is restored with its name before it is
// observed.
func TestTheRecordOfWhatDoesNotShowIsPutBack(t *testing.T) {
	w := newWorld(t)
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	before := w.get().Annotations
	w.change(strips["all annotations"])
	w.pass()
	for _, key := range []string{meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalName} {
		if got := w.get().Annotations[key]; got != before[key] || got == "" {
			t.Errorf("%s is %q, and was %q", key, got, before[key])
		}
	}
	w.cloud.Hidden = nil
	w.pass()
	w.condition("Ready", "True/Available")
}

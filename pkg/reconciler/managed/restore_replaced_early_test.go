package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestAReplaceTakesNoAttemptOfAnotherProcess verifies that an unresolved attempt that was only read is remembered,
// so that a replace does not lose it.
func TestAReplaceTakesNoAttemptOfAnotherProcess(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		w.cloud.After = lost()
		w.create(nil)
		_, _ = w.try()
		w.restart()
		w.cloud.Hidden = func(string) bool { return true }
		_, _ = w.try() // which reads of it, and finds nothing yet
		w.change(strips["all annotations and finalizers"])
		w.cloud.Hidden = nil
		for range 4 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("%s: %d disks, want 1", class, n)
		}
	}
}

// TestAReplaceOfWhatDoesNotShowYet verifies that the finalizer of an unobserved creation is restored first, because
// a deletion would leave the resource.
func TestAReplaceOfWhatDoesNotShowYet(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.change(strips["all annotations and finalizers"])
	w.pass()
	if v := w.get(); !meta.FinalizerExists(v, managed.FinalizerName) {
		t.Errorf("the finalizers are %v", v.Finalizers)
	}
	w.cloud.Hidden = nil
	w.delete()
	for range 3 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if n := len(w.cloud.Disks()); n != 0 || !w.gone() {
		t.Errorf("gone %t, %d disks are left", w.gone(), n)
	}
}

// TestAResultThatIsDropped verifies that a result that the API server drops is kept in memory, reported, and stored
// later.
func TestAResultThatIsDropped(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		w.create(nil)
		w.admit = func(o client.Object) {
			marks := o.GetAnnotations()
			delete(marks, meta.AnnotationKeyExternalName)
			o.SetAnnotations(marks)
		}
		_, _ = w.try()
		if c := w.get().GetCondition("Synced"); c.Reason != "MarksNotStored" ||
			!strings.Contains(c.Message, meta.AnnotationKeyExternalName) {
			t.Errorf("%s: the object says %s: %s", class, c.Reason, c.Message)
		}
		_, _ = w.try()
		w.admit = nil
		for range 4 {
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, _ = w.try()
		}
		if n := len(w.cloud.Disks()); n != 1 || meta.GetExternalName(w.get()) == "" {
			t.Errorf("%s: %d disks, external name %q", class, n, meta.GetExternalName(w.get()))
		}
		w.condition("Synced", "True/ReconcileSuccess")
		w.delete()
		for range 4 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if n := len(w.cloud.Disks()); n != 0 {
			t.Errorf("%s: %d disks are left", class, n)
		}
	}
}

// TestARetainedResourceIsReportedOnce verifies that a retained resource is reported once, however often the removal
// of the finalizer fails.
func TestARetainedResourceIsReportedOnce(t *testing.T) {
	w := newWorld(t, managed.WithNamespaceDeletionGuard())
	w.create(nil)
	w.pass()
	w.leavingNamespace()
	w.delete()
	w.taken()
	w.answer = func(context.Context, string) error { return errLost }
	for range 3 {
		_, _ = w.try()
	}
	w.answer = nil
	w.pass()
	if _, _, events := w.taken(); strings.Count(events, "ExternalResourceSpared") != 1 || !w.gone() {
		t.Errorf("gone %t, events %s", w.gone(), events)
	}
}

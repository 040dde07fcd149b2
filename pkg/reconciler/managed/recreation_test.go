package managed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// losing are worlds of each class whose resource is created again on request only. It was
// seen, and is gone.
func losing(t *testing.T) map[string]*world {
	t.Helper()
	worlds := unnamedClasses(t)
	for _, w := range worlds {
		w.o = append(w.o, managed.WithRecreationOnRequest(), managed.WithCreationGracePeriod(0))
		w.restart()
		w.create(nil)
		w.pass()
		w.lose()
	}

	return worlds
}

// lose removes all disks, and makes passes until nothing more is doubted.
func (w *world) lose() {
	w.Helper()
	for _, d := range w.cloud.Disks() {
		w.cloud.Remove(d.ID)
	}
	w.settle()
}

// settle makes the passes of a few poll intervals.
func (w *world) settle() {
	w.Helper()
	for range 12 {
		w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
	}
}

// allow writes the annotation by which a user asks for another resource.
func (w *world) allow(id string) {
	w.Helper()
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAllowRecreation: id})
	})
}

func lastAttempt(v *volume.Volume) string {
	id, _, _ := strings.Cut(v.Annotations[meta.AnnotationKeyCreateAttempt], "/")

	return id
}

// TestWhatIsGoneIsCreatedAgainOnRequest verifies that with the option a missing resource is recreated only on
// request, over restarts, once per request.
func TestWhatIsGoneIsCreatedAgainOnRequest(t *testing.T) {
	for class, w := range losing(t) {
		id := lastAttempt(w.get())
		for range 2 {
			if creates := w.cloud.Count("Create"); creates > 1 || len(w.cloud.Disks()) != 0 {
				t.Fatalf("%s: %d creates, %v", class, creates, w.cloud.Disks())
			}
			if _, _, events := w.taken(); strings.Contains(events, "ExternalResourceRecreated") {
				t.Errorf("%s: told %s", class, events)
			}
			c := w.condition("Synced", "False/RecreationNotRequested")
			for _, names := range []string{`"vol-1"`, meta.AnnotationKeyAllowRecreation, `"` + id + `"`} {
				if !strings.Contains(c.Message, names) {
					t.Errorf("%s: %q does not name %s", class, c.Message, names)
				}
			}
			w.condition("Ready", "False/Unavailable")
			w.restart()
			w.settle()
		}
		w.taken()
		if after := w.pass().RequeueAfter; after < 54*time.Second || after > 66*time.Second {
			t.Errorf("%s: looked at again after %s, want the poll interval, give or take a tenth", class, after)
		}
		w.expect("", "Connect Observe", "") // steady
		w.allow("another")
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "now"})
		})
		w.settle()
		if n := len(w.cloud.Disks()); n != 0 {
			t.Fatalf("%s: %d disks without a request for one", class, n)
		}
		w.allow(id)
		w.taken()
		w.pass()
		requests, _, events := w.taken()
		if requests != "patch, patch, patch status" ||
			events != "Warning/ExternalResourceRecreated, Normal/CreatedExternalResource" || len(w.cloud.Disks()) != 1 {
			t.Errorf("%s: %s; %s; disks %v", class, requests, events, w.cloud.Disks())
		}
		w.condition("Synced", "True/ReconcileSuccess")
		w.lose()
		if c := w.condition("Synced", "False/RecreationNotRequested"); len(w.cloud.Disks()) != 0 ||
			!strings.Contains(c.Message, lastAttempt(w.get())) {
			t.Errorf("%s: a request counts twice: %v, %s", class, w.cloud.Disks(), c.Message)
		}
	}
}

// TestWhatComesBackIsNotWaitedFor verifies that a resource that is found again, and a deletion, need no request.
func TestWhatComesBackIsNotWaitedFor(t *testing.T) {
	for class, w := range losing(t) {
		w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1})
		w.settle()
		w.condition("Synced", "True/ReconcileSuccess")
		w.condition("Ready", "True/Available")
		w.lose()
		w.condition("Synced", "False/RecreationNotRequested")
		w.delete()
		for range 3 {
			w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
		}
		if !w.gone() || w.cloud.Count("Create") > 1 {
			t.Errorf("%s: gone %t, %d creates", class, w.gone(), w.cloud.Count("Create"))
		}
	}
}

// TestARecreationRequestLastsUntilSuccess verifies that a rejected recreation is retried without another request.
func TestARecreationRequestLastsUntilSuccess(t *testing.T) {
	for class, w := range losing(t) {
		w.cloud.Before = failing("Create", external.NotCreated(errLost))
		w.allow(lastAttempt(w.get()))
		for range 2 {
			if _, err := w.try(); err == nil {
				t.Errorf("%s: no error", class)
			}
		}
		w.cloud.Before = nil
		w.pass()
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("%s: %d disks", class, n)
		}
		w.condition("Synced", "True/ReconcileSuccess")
	}
}

// TestAPolicyWithoutCreateIsReportedFirst verifies that a request is not asked for where the policies forbid to
// create.
func TestAPolicyWithoutCreateIsReportedFirst(t *testing.T) {
	for _, w := range losing(t) {
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve})
		})
		w.settle()
		w.condition("Synced", "False/ExternalResourceMissing")
	}
}

// TestARequestForWhatAnotherRuntimeMade verifies that a creation without an id is requested by its time.
func TestARequestForWhatAnotherRuntimeMade(t *testing.T) {
	const when = "2026-01-02T03:04:05Z"
	w := newWorld(t, managed.WithRecreationOnRequest(), managed.WithCreationGracePeriod(0))
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName}
		meta.AddAnnotations(v, map[string]string{
			meta.AnnotationKeyExternalName:            "vol-9",
			meta.AnnotationKeyExternalCreateSucceeded: when,
		})
	})
	w.pass()
	w.lose()
	if c := w.condition("Synced", "False/RecreationNotRequested"); !strings.Contains(c.Message, `"`+when+`"`) {
		t.Errorf("%q does not name %s", c.Message, when)
	}
	w.allow(when)
	w.pass()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

// TestRequestsDoNotConcernNamesOfOurChoice verifies that the option has no effect with deterministic names.
func TestRequestsDoNotConcernNamesOfOurChoice(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithRecreationOnRequest(),
		managed.WithCreationGracePeriod(0))
	w.cloud.Named = true
	w.create(nil)
	w.pass()
	w.lose()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

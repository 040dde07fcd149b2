package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhatAFailedCreateMayHaveMadeIsDeleted verifies that a Create that failed may have had an effect that is not
// visible yet: a deleted object sends its Delete all the same, and keeps its finalizer until the grace period is
// over, although an earlier resource was observed.
func TestWhatAFailedCreateMayHaveMadeIsDeleted(t *testing.T) {
	const grace = 30 * time.Second
	w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(grace))
	w.cloud.Named = true
	w.create(nil)
	w.pass()
	w.restart() // the process that made it is another
	w.pass()
	w.cloud.Remove(key.Name)
	w.cloud.Hidden = func(string) bool { return true }
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return errLost
		}

		return nil
	}
	if _, err := w.try(); err == nil || len(w.cloud.Disks()) != 1 {
		t.Fatalf("error %v, disks %v, want a disk and an answer that was lost", err, w.cloud.Disks())
	}
	w.delete()
	w.taken()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second)) // longer than an absence is doubted
	w.pass()
	if _, calls, _ := w.taken(); !strings.Contains(calls, "Delete") || w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("calls %q, gone %t, disks %v, want a Delete of what may be there", calls, w.gone(), w.cloud.Disks())
	}
	w.clock.SetTime(w.clock.Now().Add(grace))
	for range 3 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(grace))
	}
	if !w.gone() {
		t.Error("the object is still there after the grace period")
	}
}

// TestAnAuthorsFinalizerIsNotReadFromBefore verifies that no pass begins with a stale read of before the write of
// an author's finalizer, although that pass wrote nothing else.
func TestAnAuthorsFinalizerIsNotReadFromBefore(t *testing.T) {
	w := newWorld(t)
	own := resource.NewAPIFinalizer(w.API, "example.org/own")
	var given [][]string // the finalizers that the author was shown
	w.o = append(w.o, managed.WithFinalizer(resource.FinalizerFns{
		AddFinalizerFn: func(ctx context.Context, o resource.Object) error {
			given = append(given, o.GetFinalizers())

			return own.AddFinalizer(ctx, o)
		},
		RemoveFinalizerFn: own.RemoveFinalizer,
	}))
	w.restart()
	w.create(nil)
	w.lag = w.get()
	w.answer = func(context.Context, string) error { return errLost }
	if _, err := w.try(); err == nil || len(w.get().Finalizers) != 1 {
		t.Fatalf("error %v, finalizers %v, want the author's alone to be stored", err, w.get().Finalizers)
	}
	w.answer = nil
	w.pass()
	if len(given) != 2 || len(given[1]) != 1 {
		t.Errorf("the author was shown the finalizers %q, the second time without what he wrote the first time", given)
	}
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

// TestNothingIsCreatedBeforeTheAPIServerHasAnswered verifies that where no write precedes a Create, a live read
// does: without an answer nothing is created.
func TestNothingIsCreatedBeforeTheAPIServerHasAnswered(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{meta.AnnotationKeyExternalName: key.Name}
	})
	const refused = 3
	w.failLive = refused
	for range refused {
		if _, err := w.try(); err == nil {
			t.Error("no error")
		}
	}
	if n := w.cloud.Count("Create"); n != 0 || w.failLive != 0 {
		t.Errorf("%d creates, and %d reads are still to fail", n, w.failLive)
	}
	w.pass()
	if n := w.cloud.Count("Create"); n != 1 {
		t.Errorf("%d creates after the API server has answered", n)
	}
}

// TestAnAbsenceThatWasWrongIsDoubtedAnew verifies that a resource that was found again after a wrong NotFound gets
// a new grace period.
func TestAnAbsenceThatWasWrongIsDoubtedAnew(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Finalizers = append(v.Finalizers, "example.org/other") })
	w.delete()
	hidden := func(string) bool { return true }
	look := func(hide func(string) bool) {
		t.Helper()
		w.cloud.Hidden = hide
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second)) // longer than an absence is doubted
	}
	look(hidden)
	look(nil) // the other's finalizer keeps it
	w.change(func(v *volume.Volume) { v.Finalizers = []string{managed.FinalizerName} })
	look(hidden)
	if w.gone() {
		t.Fatalf("the object is let go, and %v is left over", w.cloud.Disks())
	}
	look(nil)
	look(nil)
	if n := len(w.cloud.Disks()); n != 0 || !w.gone() {
		t.Errorf("%d disks, gone %t", n, w.gone())
	}
}

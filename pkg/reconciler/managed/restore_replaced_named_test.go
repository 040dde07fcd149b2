package managed_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// namings are the ways in which users say that the resource of an object whose creation is not resolved is
// the one that was created.
var namings = map[string]func(*volume.Volume, string){
	"and removes the time": func(v *volume.Volume, name string) {
		meta.SetExternalName(v, name)
		meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending)
	},
	"and leaves the record": func(v *volume.Volume, name string) { meta.SetExternalName(v, name) },
	"and removes the record": func(v *volume.Volume, name string) {
		meta.SetExternalName(v, name)
		meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCreateAttempt)
	},
	"and gives the attempt up": func(v *volume.Volume, name string) {
		meta.SetExternalName(v, name)
		meta.AddAnnotations(v, map[string]string{
			meta.AnnotationKeyAbandonAttempt: v.Annotations[meta.AnnotationKeyCreateAttempt]})
	},
}

// unresolved is a world of the class Opaque whose object waits for the answer of its user.
func unresolved(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, managed.WithRandom(sequence()))
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.pass()

	return w
}

// TestAReplaceTakesNoResourceThatAUserNamed verifies that a replace that removes a user's answer does not lead to a
// second resource.
func TestAReplaceTakesNoResourceThatAUserNamed(t *testing.T) {
	for answer, give := range namings {
		for _, restarted := range []bool{false, true} {
			for _, what := range []string{"all annotations", "all annotations and finalizers"} {
				name := fmt.Sprintf("the user names it, %s; %s, restarted %t", answer, what, restarted)
				w := unresolved(t)
				id := w.cloud.Disks()[0].ID
				w.change(func(v *volume.Volume) { give(v, id) })
				w.pass()
				w.change(strips[what])
				if restarted {
					w.restart()
				}
				for range 3 {
					w.pass()
					w.clock.SetTime(w.clock.Now().Add(time.Minute))
				}
				if n, named := len(w.cloud.Disks()), meta.GetExternalName(w.get()); n != 1 || named != id {
					t.Errorf("%s: %d disks, the object has the name %q instead of %q", name, n, named, id)
				}
			}
		}
	}
}

// TestAReplaceWhileANamedResourceIsFound verifies that the same holds if the replace comes between the observation
// and its write.
func TestAReplaceWhileANamedResourceIsFound(t *testing.T) {
	for answer, give := range namings {
		w := unresolved(t)
		id := w.cloud.Disks()[0].ID
		w.change(func(v *volume.Volume) { give(v, id) })
		w.meanwhile(strips["all annotations and finalizers"])
		for range 3 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("the user names it, %s: %d disks", answer, n)
		}
	}
}

// TestAnOlderManifestWhileAnotherNameIsFound verifies that an older manifest with another name does not replace the
// record of the creation, which is restored.
func TestAnOlderManifestWhileAnotherNameIsFound(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		begun := map[string]string{}
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				maps.Copy(begun, w.get().Annotations)
			}

			return nil
		}
		w.create(nil)
		w.pass()
		want := record(w)
		w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: w.cloud.Disks()[0].SizeGiB})
		w.change(func(v *volume.Volume) {
			v.Annotations, v.Finalizers = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}, nil
		})
		w.meanwhile(func(v *volume.Volume) { v.Annotations = maps.Clone(begun) })
		for range 3 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if got := record(w); w.cloud.Count("Create") != 1 || !maps.Equal(got, want) {
			t.Errorf("%s: %d creations, the record is %v, and was %v", class, w.cloud.Count("Create"), got, want)
		}
	}
}

// TestAReplaceWithTheNameOfWhatIsGone verifies that repeated replaces with the name of a missing resource create no
// other one, emit a warning, and that a deletion deletes the last resource.
func TestAReplaceWithTheNameOfWhatIsGone(t *testing.T) {
	named := map[string]string{meta.AnnotationKeyExternalName: "vol-9"}
	for _, restarted := range []bool{false, true} {
		for class, w := range unnamedClasses(t) {
			name := fmt.Sprintf("%s, restarted %t", class, restarted)
			passes := func() {
				for range 5 {
					_, _ = w.try()
					w.clock.SetTime(w.clock.Now().Add(time.Minute))
				}
			}
			manifest := func(v *volume.Volume) { v.Annotations, v.Finalizers = maps.Clone(named), nil }
			w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
			w.create(manifest)
			passes()
			w.cloud.Remove("vol-9")
			passes()
			last := record(w)
			w.taken()
			for range 3 {
				if w.change(manifest); restarted {
					w.restart()
				}
				passes()
			}
			_, calls, events := w.taken()
			if !maps.Equal(record(w), last) || strings.Contains(calls, "Create") ||
				!strings.Contains(events, "CreationRecordTaken") {
				t.Errorf("%s: calls: %s; the record is %v, and was %v; events: %s", name, calls, record(w), last,
					events)
			}
			w.change(func(v *volume.Volume) { v.Annotations = maps.Clone(named) })
			w.delete()
			if passes(); len(w.cloud.Disks()) > 0 || !w.gone() {
				t.Errorf("%s: the object is deleted and gone: %t, and there is %v", name, w.gone(), w.cloud.Disks())
			}
		}
	}
}

// TestAReplaceWithTheNameOfWhatIsGoneTakesNoOperation verifies that such a replace loses no pending operation: the
// handle is restored, and no second update begun.
func TestAReplaceWithTheNameOfWhatIsGoneTakesNoOperation(t *testing.T) {
	w, c := newOperations(t, managed.WithDeterministicExternalName(false), managed.WithRandom(sequence()))
	w.cloud.Named = false
	w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1})
	w.create(func(v *volume.Volume) { meta.SetExternalName(v, "vol-1") })
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.pass()
	begun := w.get().Annotations[meta.AnnotationKeyOperation]
	w.change(func(v *volume.Volume) {
		v.Annotations, v.Finalizers = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}, nil
	})
	for range 2 {
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
	}
	if handle := w.get().Annotations[meta.AnnotationKeyOperation]; handle != begun || begun == "" {
		t.Errorf("the handle is %q, and was %q", handle, begun)
	}
	w.pass()
	if disks := w.cloud.Disks(); c.n != 1 || len(disks) != 1 || disks[0].SizeGiB != 2 ||
		meta.GetExternalName(w.get()) != "vol-1" {
		t.Errorf("%d operations were begun, there is %v, and the object has the name %q", c.n, disks,
			meta.GetExternalName(w.get()))
	}
}

// TestAReplaceWithTheNameOfWhatIsGoneTakesNoFinalizer verifies that such a replace loses no finalizer, also if the
// object is deleted within the grace period.
func TestAReplaceWithTheNameOfWhatIsGoneTakesNoFinalizer(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		w.create(nil)
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.pass()
		w.change(func(v *volume.Volume) {
			v.Annotations, v.Finalizers = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}, nil
		})
		w.pass()
		w.delete()
		for range 5 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if len(w.cloud.Disks()) > 0 || !w.gone() {
			t.Errorf("%s: the object is gone: %t, and there is %v", class, w.gone(), w.cloud.Disks())
		}
	}
}

// TestAReplaceWithTheNameOfWhatIsMissed verifies that the name of such a replace counts if its resource exists and
// the first observation has missed it.
func TestAReplaceWithTheNameOfWhatIsMissed(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		w.create(nil)
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
		w.change(func(v *volume.Volume) {
			v.Annotations = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}
		})
		w.cloud.Hidden = func(string) bool { return true } // for one look
		w.pass()
		w.cloud.Hidden = nil
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		w.pass()
		if name := meta.GetExternalName(w.get()); name != "vol-9" || w.cloud.Count("Create") != 1 {
			t.Errorf("%s: the name that the user chose became %q, with %d creations", class, name,
				w.cloud.Count("Create"))
		}
	}
}

// meanwhile changes the object once, before the next observation.
func (w *world) meanwhile(change func(*volume.Volume)) {
	done := false
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" && !done {
			done = true
			w.change(change)
		}

		return nil
	}
}

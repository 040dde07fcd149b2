package managed_test

import (
	"context"
	"fmt"
	"maps"
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
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAbandonAttempt: v.Annotations[meta.AnnotationKeyCreateAttempt]})
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

// TestAReplaceTakesNoResourceThatAUserNamed: a user answers that a resource is the one that was created, and it
// is found. A replace that takes this answer from the metadata makes no second one.
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

// TestAReplaceWhileANamedResourceIsFound: the same, and the replace comes between the observation that finds it
// and the write that records it.
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

// TestAnOlderManifestWhileAnotherNameIsFound: a replace takes the record of a creation, and leaves the name of
// another resource, which its user has chosen. While that is observed, a manifest is written back that was
// exported before the creation had ended. The record of the creation is put back, as it is told.
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

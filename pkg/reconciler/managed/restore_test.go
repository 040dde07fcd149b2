package managed_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// unnamedClasses returns the worlds of those classes of external systems to which a name is not known
// before the creation.
func unnamedClasses(t *testing.T) map[string]*world {
	t.Helper()
	classes := map[string]*world{
		"opaque":   newWorld(t, managed.WithRandom(sequence())),
		"findable": newWorld(t, managed.WithRandom(sequence())),
		"token":    newWorld(t, managed.WithRandom(sequence()), managed.WithCreationTokens()),
	}
	classes["findable"].cloud.Window = 30 * time.Second
	classes["token"].cloud.Tokens = true

	return classes
}

// strips are the ways in which a replace takes the record from the metadata of an object: as a
// whole, or a part.
var strips = map[string]func(*volume.Volume){
	"all annotations":                func(v *volume.Volume) { v.Annotations = nil },
	"all annotations and finalizers": func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil },
	"the name":                       taking(meta.AnnotationKeyExternalName),
	"the attempt":                    taking(meta.AnnotationKeyCreateAttempt),
	"the time of success":            taking(meta.AnnotationKeyExternalCreateSucceeded),
	"the attempt and the time": taking(meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreateSucceeded),
}

func taking(keys ...string) func(*volume.Volume) {
	return func(v *volume.Volume) {
		for _, key := range keys {
			delete(v.Annotations, key)
		}
	}
}

// TestAReplaceTakesNoResource verifies that repeated replaces of an observed object lead to no second resource, in
// the same process and in a new one; the next pass restores the record, and a deletion deletes the resource.
func TestAReplaceTakesNoResource(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		for _, what := range slices.Sorted(maps.Keys(strips)) {
			for class, w := range unnamedClasses(t) {
				name := fmt.Sprintf("%s, %s, restarted %t", class, what, restarted)
				w.create(nil)
				w.pass()
				want := record(w)
				for range 3 {
					w.change(strips[what])
					if restarted {
						w.restart()
					}
					w.pass()
					w.clock.SetTime(w.clock.Now().Add(time.Minute))
					w.pass()
				}
				if n := len(w.cloud.Disks()); n != 1 || w.cloud.Count("Create") != 1 {
					t.Errorf("%s: %d disks, %d creations", name, n, w.cloud.Count("Create"))
				}
				if got := record(w); !maps.Equal(got, want) {
					t.Errorf("%s: the record is %v, and was %v", name, got, want)
				}
				w.change(strips["all annotations"])
				if restarted {
					w.restart()
				}
				w.delete()
				for range 6 {
					if w.gone() {
						break
					}
					w.pass()
					w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
				}
				if n := len(w.cloud.Disks()); n != 0 || !w.gone() {
					t.Errorf("%s, deleted: %d disks are left, gone %t", name, n, w.gone())
				}
			}
		}
	}
}

// record is what says of an object what was created for it.
func record(w *world) map[string]string {
	v := w.get()
	out := map[string]string{"finalizers": fmt.Sprint(v.Finalizers)}
	for _, key := range []string{meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt} {
		out[key] = v.Annotations[key]
	}
	out["succeeded"] = fmt.Sprint(!meta.GetExternalCreateSucceeded(v).IsZero())

	return out
}

// TestAReplaceWhileACreationIsUnknown verifies that a replace of an unresolved attempt leads to no second resource.
func TestAReplaceWhileACreationIsUnknown(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		w.cloud.After = lost()
		w.create(nil)
		_, _ = w.try()
		for range 3 {
			w.change(strips["all annotations and finalizers"])
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("%s: %d disks", class, n)
		}
	}
}

// TestAReplaceBeforeTheFirstObservation verifies that a replace before the first observation leads to no second
// resource.
func TestAReplaceBeforeTheFirstObservation(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		away := true
		w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return hidden{c, &away} })
		w.create(nil)
		w.pass()
		w.change(strips["all annotations"])
		w.pass()
		away = false
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("%s: %d disks", class, n)
		}
	}
}

// hidden is a client whose Observe finds nothing for a while.
type hidden struct {
	managed.ExternalClient

	away *bool
}

func (h hidden) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if *h.away {
		return managed.ExternalObservation{}, nil
	}

	return h.ExternalClient.Observe(ctx, mg)
}

// TestWhatIsNotRestored verifies that a user may set another name, and end an attempt.
func TestWhatIsNotRestored(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
	w.change(func(v *volume.Volume) {
		v.Annotations = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}
	})
	w.pass()
	if got := meta.GetExternalName(w.get()); got != "vol-9" {
		t.Errorf("the name that the user chose became %q", got)
	}

	w = newWorld(t)
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.change(taking(meta.AnnotationKeyExternalCreatePending))
	w.pass()
	if n := w.cloud.Count("Create"); n != 2 {
		t.Errorf("%d creations after the user said that it is safe to proceed, want 2", n)
	}
}

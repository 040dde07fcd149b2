package trials

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOutsideNamelessAndDeleted: the external name alone of what Create returned was not stored,
// because a policy drops it and the process ended, or because Create does not set it. The object
// says CreationUnresolved; when it is deleted it goes, and leaves what was created, without an
// event.
//
// It breaks, of docs/guarantees.md, "An object that is deleted in that state stays until he has
// looked", and "S5: The finalizer goes only when the external resource is gone, or may stay".
func TestOutsideNamelessAndDeleted(t *testing.T) {
	each(t, []class{opaque, token}, func(w *world) {
		for what, forget := range map[string]func(*world){
			"a policy drops the name": func(w *world) {
				w.admit = drops(func(k string) bool { return k == meta.AnnotationKeyExternalName }, false)
			},
			"Create sets no name": func(w *world) {
				w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
					if call == "Create" {
						meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
					}

					return nil
				}
			},
		} {
			story := w.again()
			forget(story)
			story.create()
			_, _ = story.pass() // an error asks for another pass
			story.start()
			story.run(20 * time.Minute)
			story.events = nil
			story.Delete(atKey())
			story.run(20 * time.Minute)
			story.letGo(what)
		}
	})
}

// Restored puts the object back into an empty API server, as Velero does: without its status,
// under another UID, with its annotations and finalizers.
func (w *world) restored() {
	backup := w.get()
	w.plug(newStore(w.t))
	w.start()
	w.events = nil
	w.create(func(v *volume.Volume) {
		v.UID = "uid-2"
		v.SetAnnotations(backup.GetAnnotations())
		v.SetFinalizers(backup.GetFinalizers())
	})
}

// TestOutsideRestoredAndMissed: an object is restored by Velero, and the first look misses its
// resource. Another is created at once, the name that the backup had is replaced, and no Warning
// tells it.
//
// It breaks, of docs/guarantees.md, "S2: An external name that was learnt is neither lost nor
// replaced"; of docs/conditions-and-events.md, "also not by a second look over a new connection";
// of docs/backup.md, "This page says what to do so that no second one is created" and "What is
// missing there is looked for twice, and created again with the warning ExternalResourceRecreated".
func TestOutsideRestoredAndMissed(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		w.restored()
		w.missed()
		w.run(20 * time.Minute)
		if disks := w.cloud.Disks(); len(disks) > 1 {
			w.Errorf("there are %s, of which %d warnings tell", ids(disks), w.warnings())
		}
	})
}

// TestOutsideOnRequestRestored: cluster and external system are restored, and the resource is
// not in the backup of the latter. It is created, empty, without a request and without a
// Warning.
//
// It breaks, of docs/backup.md, "with managed.WithRecreationOnRequest only when a user asks".
func TestOutsideOnRequestRestored(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.onRequest()
		w.ready()
		w.cloud.Remove("vol-1")
		w.restored()
		w.run(time.Hour)
		if disks := w.cloud.Disks(); len(disks) > 0 {
			w.Errorf("%s is created in the place of vol-1, unasked; %d warnings tell it", ids(disks), w.warnings())
		}
	})
}

package trials

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOutsideNamelessAndDeleted deletes an object whose record lacks only the external name, because
// a policy drops it and the process ended, or because Create does not set it. The object is not
// removed without a warning about its resource.
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
			_, _ = story.pass() // an error requeues the object
			story.start()
			story.run(20 * time.Minute)
			story.events = nil
			story.Delete(atKey())
			story.run(20 * time.Minute)
			story.leavesNothingUnreported(what)
		}
	})
}

// putBack puts the backup of an object into an empty API server, as Velero does: without its status,
// under another UID, with its annotations and finalizers.
func (w *world) putBack(backup *volume.Volume, uid types.UID) {
	w.Helper()
	w.plug(newStore(w.t))
	w.start()
	w.events = nil
	w.create(func(v *volume.Volume) {
		v.UID = uid
		v.SetAnnotations(backup.GetAnnotations())
		v.SetFinalizers(backup.GetFinalizers())
	})
}

// TestOutsideRestoredAndMissed restores an object as Velero does, and the first Observe wrongly
// finds nothing. The second finds the resource.
func TestOutsideRestoredAndMissed(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		w.putBack(w.get(), "uid-2")
		w.missed()
		w.run(20 * time.Minute)
		if disks := w.cloud.Disks(); len(disks) > 1 {
			w.Errorf("there are %s, of which %d warnings tell", ids(disks), w.warnings())
		}
	})
}

// TestOutsideOnRequestRestored restores the cluster and the external system, whose backup lacks
// the resource. Without a request none is created in its place.
func TestOutsideOnRequestRestored(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.onRequest()
		w.ready()
		w.cloud.Remove("vol-1")
		w.putBack(w.get(), "uid-2")
		w.run(time.Hour)
		if disks := w.cloud.Disks(); len(disks) > 0 {
			w.Errorf("%s is created in the place of vol-1, unasked; %d warnings tell it", ids(disks), w.warnings())
		}
	})
}

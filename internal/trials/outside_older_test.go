package trials

import (
	"testing"
	"time"
)

// TestOutsideOlderManifest applies a manifest that was exported with its annotations, as kubectl get
// -o yaml shows them, before the resource was lost and another was created. However often it is
// applied, no other is created.
func TestOutsideOlderManifest(t *testing.T) {
	each(t, assigned, func(w *world) {
		for _, ends := range []bool{false, true} {
			story := w.again()
			story.ready()
			first := story.get().GetAnnotations()
			story.cloud.Remove("vol-1")
			story.run(20 * time.Minute)
			story.isReady()
			story.events = nil
			for range 5 {
				v := story.get()
				v.SetAnnotations(first)
				w.Must(story.API.Update(w.Context(), v))
				if ends {
					story.start()
				}
				story.run(20 * time.Minute)
			}
			if disks := story.cloud.Disks(); len(disks) > 1 {
				w.Errorf("the process ends: %t: there are %s after five syncs, and %d warnings tell it", ends,
					ids(disks), story.warnings())
			}
		}
	})
}

// TestOutsideOlderManifestAndDeleted does the same and deletes the object at once. The last resource
// is deleted with it.
func TestOutsideOlderManifestAndDeleted(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		first := w.get().GetAnnotations()
		w.cloud.Remove("vol-1")
		w.run(20 * time.Minute)
		w.isReady()
		w.events = nil
		v := w.get()
		v.SetAnnotations(first)
		w.Must(w.API.Update(w.Context(), v))
		w.Delete(atKey())
		w.run(20 * time.Minute)
		w.leavesNothingUnreported("older annotations")
	})
}

// TestOutsideEtcdBeforeAnother restores etcd to a moment at which the object had a resource
// that was lost since. The process that created the last one knows it.
func TestOutsideEtcdBeforeAnother(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		before := w.get()
		w.cloud.Remove("vol-1")
		w.run(20 * time.Minute)
		w.isReady()
		w.plug(newStore(w.t, before))
		w.run(20 * time.Minute)
		w.single()
	})
}

// TestOutsideEtcdBeforeAnotherNoticed does the same with leader election and
// managed.WithRestoreDetector, and versions go back: the process writes back its records and
// ends.
func TestOutsideEtcdBeforeAnotherNoticed(t *testing.T) {
	each(t, assigned, func(w *world) {
		server := newPlane(100)
		p := &provider{t: w.t, plane: server, cloud: w.cloud, options: w.options}
		stop := p.runs()
		defer stop()
		server.mu.Lock()
		server.store(volumePath, manifest())
		server.mu.Unlock()
		wait(2 * time.Minute)
		snapshot, version := server.backup(), server.version()
		w.cloud.Remove("vol-1")
		wait(20 * time.Minute)
		p.has("another resource", 1)
		server.restore(snapshot, version)
		wait(10 * time.Minute)
		if disks := p.cloud.Disks(); len(disks) != 1 || p.starts.Load() < 2 {
			w.Errorf("after %d starts of the process there are %s; the object says %+v", p.starts.Load(), ids(disks),
				server.volume(w.t).Status.Conditions)
		}
	})
}

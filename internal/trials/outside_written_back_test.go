package trials

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Ways in which annotations are written to an object: instead of the existing ones, or among them.
var ways = map[string]func(*world, map[string]string){"replace": (*world).replaceWith, "merge": (*world).mergeWith}

// mergeWith does what kubectl apply does with a manifest that has annotations.
func (w *world) mergeWith(annotations map[string]string) {
	w.Helper()
	w.change(func(v *volume.Volume) { meta.AddAnnotations(v, annotations) })
}

// takenOver takes the object over from another runtime, which has recorded times and no id of an
// attempt. It returns the annotations of a manifest that is exported then.
func (w *world) takenOver() map[string]string {
	w.Helper()
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	w.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		v.SetAnnotations(map[string]string{
			meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyExternalCreatePending: at,
			meta.AnnotationKeyExternalCreateSucceeded: at,
		})
	})
	w.run(time.Minute)
	w.isReady()

	return w.get().GetAnnotations()
}

// TestOutsideOlderMerged applies a manifest that was exported under another runtime, before the resource was lost
// and another was created. However often it is applied, the object keeps the last one, with a Warning, and a user
// can then set another external name.
func TestOutsideOlderMerged(t *testing.T) {
	each(t, assigned, func(w *world) {
		for _, ends := range []bool{false, true} {
			story := w.again()
			exported := story.takenOver()
			story.lose()
			story.events = nil
			for range 3 {
				story.mergeWith(exported)
				if ends {
					story.start()
				}
				story.run(20 * time.Minute)
				story.isReady()
			}
			if story.warnings() == 0 {
				w.Errorf("the process ends: %t: no warning asks to remove the annotations from the manifest", ends)
			}
			last := meta.GetExternalName(story.get())
			story.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
			story.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
			story.cloud.Remove(last)
			story.run(20 * time.Minute)
			story.isReady()
			story.goesWhole()
		}
	})
}

// TestOutsideOlderMergedAndDeleted does the same and deletes the object at once. The last resource is deleted with
// it.
func TestOutsideOlderMergedAndDeleted(t *testing.T) {
	each(t, assigned, func(w *world) {
		exported := w.takenOver()
		w.lose()
		w.mergeWith(exported)
		w.start()
		w.goesWhole()
	})
}

// TestOutsideOlderMergedUnseen does the same before the last resource shows. Its external name is kept.
func TestOutsideOlderMergedUnseen(t *testing.T) {
	each(t, assigned, func(w *world) {
		exported := w.takenOver()
		w.cloud.Remove("vol-0")
		w.cloud.Hidden = func(string) bool { return true }
		w.run(2 * time.Minute)
		w.mergeWith(exported)
		w.run(2 * time.Minute)
		w.mergeWith(exported)
		w.cloud.Hidden = nil
		w.run(20 * time.Minute)
		w.isReady()
		w.goesWhole()
	})
}

// TestOutsideOlderMergedClocks does the same with processes whose clocks differ. The last resource is known all the
// same, and so is the user's choice.
func TestOutsideOlderMergedClocks(t *testing.T) {
	each(t, assigned, func(w *world) {
		for _, by := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
			story := w.again()
			wait(24 * time.Hour)
			exported := story.takenOver()
			story.startAt(by)
			story.lose()
			story.startAt(-by)
			story.mergeWith(exported)
			story.run(20 * time.Minute)
			story.isReady()
			story.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
			story.cloud.Remove(meta.GetExternalName(story.get()))
			story.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
			story.run(20 * time.Minute)
			story.isReady()
			story.goesWhole()
		}
	})
}

// TestOutsideAdoptedByAnotherClock adopts an existing resource by a process whose clock is behind. A user can then
// set another external name.
func TestOutsideAdoptedByAnotherClock(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		w.startAt(-5 * time.Hour)
		at := time.Now().UTC().Format(time.RFC3339)
		w.create(func(v *volume.Volume) {
			v.SetAnnotations(map[string]string{
				meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyExternalCreatePending: at,
				meta.AnnotationKeyExternalCreateFailed: at,
			})
		})
		w.run(time.Minute)
		w.isReady()
		w.cloud.Put(volume.Disk{ID: "mine", SizeGiB: 1})
		w.cloud.Remove("vol-0")
		w.change(func(v *volume.Volume) { meta.SetExternalName(v, "mine") })
		w.run(20 * time.Minute)
		w.isReady()
	})
}

// refuses makes the cloud refuse creations.
func (w *world) refuses() {
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return external.NotCreated(errLost)
		}

		return nil
	}
}

// asks reports whether the condition asks the user for the result of a creation.
func (w *world) asks() bool {
	w.Helper()

	return mentions(w.get().GetCondition(commonv1.TypeSynced).Message, meta.AnnotationKeyExternalCreatePending)
}

// TestOutsideAnsweredAndWrittenBack answers that it is safe to create, and creations are refused. A tool writes back
// the annotations that the object had when it asked. The user is not asked again.
func TestOutsideAnsweredAndWrittenBack(t *testing.T) {
	for how, answer := range map[string]func(*world){"removed": (*world).answers, "abandoned": (*world).abandons} {
		for way, write := range ways {
			t.Run(how+", "+way, func(t *testing.T) {
				in(t, opaque, func(w *world) {
					w.loseCreate(func() {})
					w.create()
					w.run(10 * time.Minute)
					w.writtenBack(answer, write)
				})
			})
		}
	}
}

// TestOutsideAnsweredUnseenAndWrittenBack does the same for a resource that was created and never found.
func TestOutsideAnsweredUnseenAndWrittenBack(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				w.cloud.Hidden = func(string) bool { return true }
				w.create()
				w.run(10 * time.Minute)
				w.writtenBack((*world).answers, write)
			})
		})
	}
}

// abandons answers by the annotation that abandons an attempt.
func (w *world) abandons() {
	w.Helper()
	id := w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	w.mergeWith(map[string]string{meta.AnnotationKeyAbandonAttempt: id})
	w.run(10 * time.Minute)
}

// writtenBack answers for the user of a waiting object, refuses creations, and writes the annotations from before
// the answer again. Once creations are accepted, the object becomes ready.
func (w *world) writtenBack(answer func(*world), write func(*world, map[string]string)) {
	w.Helper()
	if !w.asks() {
		w.Fatalf("the user is not asked")
	}
	blocked := w.get().GetAnnotations()
	w.cloud.Remove("vol-1")
	w.cloud.Hidden = nil
	w.refuses()
	answer(w)
	w.events = nil
	for range 3 {
		write(w, blocked)
		w.run(time.Minute)
		if w.asks() {
			w.Errorf("the user is asked again")
		}
	}
	if abandoned := w.get().GetAnnotations()[meta.AnnotationKeyAbandonAttempt] != ""; !abandoned && !w.warnsOfManifest() {
		w.Errorf("no warning asks to remove the annotations from the manifest: %v", w.events)
	}
	w.cloud.Before = nil
	w.run(5 * time.Minute)
	w.isReady()
	w.goesWhole()
}

// warnsOfManifest reports whether a Warning asks to remove annotations from the manifest.
func (w *world) warnsOfManifest() bool {
	for _, e := range w.events {
		if e.Reason == "CreationRecordTaken" &&
			mentions(e.Message, "Remove the annotations that the provider writes from the manifest") {
			return true
		}
	}

	return false
}

// TestOutsideAnsweredWrittenBackAndRestarted does the same, and the process ends before it reads the written
// annotations. Two histories lead to the same object: the last creation was refused, or the process died within the
// next. They cannot be distinguished, so the user is asked, and nothing is created a second time.
func TestOutsideAnsweredWrittenBackAndRestarted(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				w.loseCreate(func() {})
				w.create()
				w.run(10 * time.Minute)
				blocked := w.get().GetAnnotations()
				w.cloud.Remove("vol-1")
				w.refuses()
				w.answers()

				then := w.get().GetAnnotations()
				write(w, blocked)
				refused := content(w.get())
				w.replaceWith(then)
				w.diesWithinCreate()
				write(w, blocked)
				if diff := cmp.Diff(refused, content(w.get())); diff != "" {
					w.Errorf("the two histories differ: -refused +died:\n%s", diff)
				}

				w.start()
				w.run(10 * time.Minute)
				w.single()
				if !w.asks() {
					w.Errorf("the user is not asked")
				}
			})
		})
	}
}

// diesWithinCreate makes a creation take effect, and the process store nothing any more.
func (w *world) diesWithinCreate() {
	w.Helper()
	dead := false
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		dead = dead || call == "Create"

		return nil
	}
	w.answer = func(write) error {
		if dead {
			return errLost
		}

		return nil
	}
	_, _ = w.pass() // the process ends with its error
	w.answer, w.cloud.Before = nil, nil
	w.single()
}

// content returns an object without the fields that the API server changes with each write.
func content(v *volume.Volume) *volume.Volume {
	v.ResourceVersion, v.ManagedFields = "", nil

	return v
}

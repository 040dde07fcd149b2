package trials

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Manifests with which passes make no call of the external system.
var early = map[string]map[string]string{
	"paused":               {meta.AnnotationKeyReconciliationPaused: "true"},
	"an invalid policy":    {meta.AnnotationKeyManagementPolicy: "observe-creat"},
	"a failed initializer": {"example.org/broken": "true"},
}

// unshown creates the object, whose resource does not show yet, with an initializer that fails for a manifest of
// early. The initializer records on the object that it failed.
func (w *world) unshown() {
	w.Helper()
	w.options = append(slices.Clone(w.options),
		managed.WithInitializers(managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
			if mg.GetAnnotations()["example.org/broken"] == "" {
				return nil
			}
			meta.AddAnnotations(mg, map[string]string{
				"example.org/half": "done", meta.AnnotationKeyExternalName: "half",
			})

			return errLost
		})))
	w.start()
	w.create()
	w.cloud.Hidden = func(string) bool { return true }
	_, _ = w.pass()
}

// replacedBy does what kubectl replace does with a manifest that has annotations, and with no finalizer or ours.
func (w *world) replacedBy(annotations map[string]string, finalizers ...string) {
	w.Helper()
	v := w.get()
	v.SetAnnotations(maps.Clone(annotations))
	v.SetFinalizers(finalizers)
	w.Must(w.API.Update(w.Context(), v))
}

// shown ends the cause for which passes made no calls, and makes the resource show.
func (w *world) shown() {
	w.Helper()
	v := w.get()
	annotations := v.GetAnnotations()
	for _, manifest := range early {
		for key := range manifest {
			delete(annotations, key)
		}
	}
	v.SetAnnotations(annotations)
	w.Must(w.API.Update(w.Context(), v))
	w.cloud.Hidden = nil
}

// TestOutsideReplacedBeforeAnEarlyEnd is about a created resource that does not show yet: a replace removes its
// record, and the process that knows it makes no call of the external system before it ends. The next process
// creates nothing, and deletes the resource.
func TestOutsideReplacedBeforeAnEarlyEnd(t *testing.T) {
	each(t, assigned, func(w *world) {
		for why, manifest := range early {
			for _, deleted := range []bool{false, true} {
				story := w.again()
				story.unshown()
				story.replacedBy(manifest)
				for range 3 {
					_, _ = story.pass() // an error requeues the object
				}
				v := story.get()
				if marks := v.GetAnnotations(); marks[meta.AnnotationKeyCreateAttempt] == "" ||
					marks["example.org/half"] != "" || !meta.FinalizerExists(v, managed.FinalizerName) {
					w.Errorf("%s: the annotations are %v, the finalizers %v", why, marks, v.GetFinalizers())
				}
				story.start()
				story.shown()
				if deleted {
					story.Delete(atKey())
				}
				story.run(10 * time.Minute)
				switch {
				case !deleted:
					story.isReady()
				case !story.Gone(atKey()) || len(story.cloud.Disks()) > 0:
					w.Errorf("%s: the object is gone: %t, and there are %s", why, story.Gone(atKey()),
						ids(story.cloud.Disks()))
				}
			}
		}
	})
}

// TestOutsidePausedAndRecorded checks that a paused object gets back no annotation that its status has as well, and
// no finalizer alone: a user removes that from a paused object to move it elsewhere. The finalizer is restored when
// the pause ends.
func TestOutsidePausedAndRecorded(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.replacedBy(early["paused"])
		w.untouched("the record in the status")
		w.shown()
		w.run(time.Minute)
		w.isReady()
		if !meta.FinalizerExists(w.get(), managed.FinalizerName) {
			w.Error("the finalizer is not put back after the pause")
		}

		moved := w.again()
		moved.unshown()
		marks := maps.Clone(moved.get().GetAnnotations())
		maps.Copy(marks, early["paused"])
		moved.replacedBy(marks)
		moved.untouched("a finalizer alone")
		moved.Delete(atKey())
		_, _ = moved.pass()
		if !moved.Gone(atKey()) || !moved.reported() {
			w.Errorf("the object is gone: %t; events: %v", moved.Gone(atKey()), moved.events)
		}
	})
}

// untouched checks that passes write only the status.
func (w *world) untouched(what string) {
	w.Helper()
	w.writes = nil
	for range 3 {
		_, _ = w.pass()
	}
	if slices.ContainsFunc(w.writes, func(r write) bool { return r.verb != "patch status" }) {
		w.Errorf("%s is put back: %v", what, w.writes)
	}
}

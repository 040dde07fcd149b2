package trials

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// leftOnce checks that there is one warning about a leftover, with all these words.
func (w *world) leftOnce(words ...string) {
	w.Helper()
	if left := w.leftoverWarnings(); len(left) != 1 || !contains(left[0], words) {
		w.Errorf("want one warning with the words %q, got %q; of all: %v", words, left, w.events)
	}
}

// TestOutsideAllowedWhileUnresolved allows another account while the result of a creation is unknown. One warning
// reports the resource that may be left in the first account. An observed resource is reported when another one is
// created.
func TestOutsideAllowedWhileUnresolved(t *testing.T) {
	each(t, []class{findable, token, named}, func(w *world) {
		moves := func(story *world) {
			story.cloud.Account = "west"
			story.cloud.Remove(story.cloud.Disks()[0].ID) // it is in the other account
			story.run(5 * time.Minute)
			story.says("BackendChanged", "east", story.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt])
			story.mergeWith(map[string]string{meta.AnnotationKeyAllowBackendChange: "west"})
			story.run(20 * time.Minute)
			story.isReady()
		}
		w.cloud.Account = "east"
		w.cloud.Hidden = func(string) bool { return true }
		w.loseCreate(func() {})
		w.create()
		_, _ = w.pass()
		w.cloud.Hidden = nil
		attempt := w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt]
		moves(w)
		w.leftOnce("east", attempt)

		observed := w.again()
		observed.cloud.Account = "east"
		observed.ready()
		observed.cloud.Account = "west"
		observed.run(5 * time.Minute)
		observed.mergeWith(map[string]string{meta.AnnotationKeyAllowBackendChange: "west"})
		observed.run(20 * time.Minute)
		if left := observed.leftoverWarnings(); len(left) > 0 {
			w.Errorf("it was observed, and is reported as left: %q", left)
		}
	})
}

// TestOutsideRestartedReplacedDeleted starts a process that sees an object with all its marks, and cannot observe
// its resource. Then a replace removes the finalizer and the annotations, and the object is deleted: one warning
// reports the leftover.
func TestOutsideRestartedReplacedDeleted(t *testing.T) {
	each(t, classes, func(w *world) {
		for why, manifest := range map[string]map[string]string{
			"paused":            {meta.AnnotationKeyReconciliationPaused: "true"},
			"an invalid policy": {meta.AnnotationKeyManagementPolicy: "observe-creat"},
		} {
			story := w.again()
			story.ready()
			story.mergeWith(manifest)
			story.start()
			story.run(5 * time.Minute)
			story.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = maps.Clone(manifest), nil })
			story.run(5 * time.Minute)
			story.unkept()
			story.Delete(atKey())
			_, _ = story.pass()
			if !story.Gone(atKey()) {
				w.Errorf("%s: the object stays", why)
			}
			story.leftOnce(story.cloud.Disks()[0].ID)
		}
	})
}

// unkept removes the finalizers of the object, also restored ones.
func (w *world) unkept() { w.change(func(v *volume.Volume) { v.Finalizers = nil }) }

// TestOutsideTakenBeforeARestart removes the finalizer after a failed Delete, while another finalizer keeps the
// object. The next process has never seen our finalizer: the state of the object is enough for one warning.
func TestOutsideTakenBeforeARestart(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Delete" {
				return errLost
			}

			return nil
		}
		w.Delete(atKey())
		w.run(time.Minute)
		w.change(func(v *volume.Volume) { v.Finalizers = []string{"example.org/kept"} })
		w.start()
		w.run(10 * time.Minute)
		w.leftOnce(w.cloud.Disks()[0].ID)
		w.unhold()
		_, _ = w.pass()
		w.leftOnce(w.cloud.Disks()[0].ID)

		waiting := w.again()
		waiting.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/kept"} })
		waiting.run(time.Minute)
		waiting.Delete(atKey())
		waiting.run(time.Minute)
		waiting.change(func(v *volume.Volume) { v.Finalizers = []string{"example.org/kept"} })
		waiting.start()
		waiting.run(10 * time.Minute)
		waiting.leftOnce(waiting.cloud.Disks()[0].ID)
	})
}

// TestOutsideReleasedBeforeARestart checks that the next process reports nothing about a released object that other
// finalizers still keep.
func TestOutsideReleasedBeforeARestart(t *testing.T) {
	each(t, classes, func(w *world) {
		w.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/kept"} })
		w.run(time.Minute)
		w.cloud.Remove(w.cloud.Disks()[0].ID) // there is nothing to wait for
		w.Delete(atKey())
		w.run(10 * time.Minute)
		w.start()
		w.run(10 * time.Minute)
		if left := w.leftoverWarnings(); len(left) > 0 || meta.FinalizerExists(w.get(), managed.FinalizerName) {
			w.Errorf("it was released, and is reported as left: %q", left)
		}

		released := w.again()
		released.create(func(v *volume.Volume) { v.Finalizers = []string{"foregroundDeletion"} })
		released.run(time.Minute)
		released.Delete(atKey())
		released.run(10 * time.Minute)
		released.start()
		released.run(10 * time.Minute)
		left := released.leftoverWarnings()
		if len(left) > 0 || len(released.cloud.Disks()) > 0 || released.Gone(atKey()) {
			w.Errorf("it was released, and is reported as left: %q", left)
		}
	})
}

// TestOutsideStatusAndTheNamespace answers a write of the status with a NotFound of the namespace: one event reports
// that, and does not blame the CRD.
func TestOutsideStatusAndTheNamespace(t *testing.T) {
	in(t, named, func(w *world) {
		w.answer = func(r write) error {
			if r.verb == "patch status" {
				return kerrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Namespace)
			}

			return nil
		}
		w.create()
		w.run(time.Hour)
		w.warned("CannotUpdateManagedResource", `namespaces "default" not found`)
		if text := w.events[len(w.events)-1].Message; strings.Contains(text, "CustomResourceDefinition") ||
			strings.Contains(text, "subresource") {
			w.Errorf("the definition is blamed: %s", text)
		}
		w.answer = nil
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// TestOutsideUnresolvedOrphan checks that an object with the deletion policy orphan is removed at once, also while
// the result of its creation is unknown. One warning reports the latter; a known resource is not reported.
func TestOutsideUnresolvedOrphan(t *testing.T) {
	each(t, assigned, func(w *world) {
		orphan := func(v *volume.Volume) {
			v.SetAnnotations(map[string]string{meta.AnnotationKeyDeletionPolicy: "orphan"})
		}
		w.loseCreate(func() {})
		w.create(orphan)
		_, _ = w.pass()
		attempt := w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt]
		w.Delete(atKey())
		w.run(10 * time.Minute)
		w.leftOnce(attempt)

		known := w.again()
		known.create(orphan)
		known.run(time.Minute)
		known.isReady()
		known.Delete(atKey())
		known.run(10 * time.Minute)
		if left := known.leftoverWarnings(); !w.Gone(atKey()) || !known.Gone(atKey()) || len(left) > 0 {
			w.Errorf("the objects are gone: %t, %t; the known resource is reported: %q", w.Gone(atKey()),
				known.Gone(atKey()), left)
		}
	})
}

// TestOutsideRefusedResult refuses the write of the result of a creation for two minutes. No record was removed, and
// none is reported to be.
func TestOutsideRefusedResult(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.answer = func(r write) error {
			if text, _ := r.annotations()[meta.AnnotationKeyCreateAttempt].(string); strings.HasSuffix(text,
				"/succeeded") {
				return kerrors.NewInvalid(schema.GroupKind{Group: volumes.Group, Kind: "Volume"}, key.Name, nil)
			}

			return nil
		}
		w.create()
		w.run(2 * time.Minute)
		if slices.ContainsFunc(w.events, func(e event.Event) bool { return e.Reason == "CreationRecordTaken" }) {
			w.Errorf("another writer is blamed: %v", w.events)
		}
		w.answer = nil
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// TestOutsideLateResult overwrites the record of the last creation with the result of an earlier attempt, as another
// process or a manifest does. The warning names the resource of that attempt.
func TestOutsideLateResult(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		first := w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt]
		w.lose()
		w.events = nil
		w.mergeWith(map[string]string{meta.AnnotationKeyCreateAttempt: first, meta.AnnotationKeyExternalName: "late"})
		w.run(10 * time.Minute)
		w.isReady()
		w.warned("CreationRecordTaken", `"late"`, "or by another process")
	})
}

// TestOutsideUnclaimedWrittenBack replaces a claimed object by its manifest with UnclaimedFinalizer. The object is
// deleted, and a new process sees that: one warning reports the leftover.
func TestOutsideUnclaimedWrittenBack(t *testing.T) {
	each(t, classes, func(w *world) {
		unclaimed := func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, []string{managed.UnclaimedFinalizer} }
		w.create(unclaimed)
		w.run(5 * time.Minute)
		w.isReady()
		w.change(unclaimed)
		w.Delete(atKey())
		w.start()
		w.run(10 * time.Minute)
		w.leftOnce(w.cloud.Disks()[0].ID)

		never := w.again()
		never.create(unclaimed)
		never.Delete(atKey())
		never.run(10 * time.Minute)
		if left := never.leftoverWarnings(); !w.Gone(atKey()) || !never.Gone(atKey()) || len(left) > 0 {
			w.Errorf("the objects are gone: %t, %t; the one that was never claimed is reported: %q", w.Gone(atKey()),
				never.Gone(atKey()), left)
		}
	})
}

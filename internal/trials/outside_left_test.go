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

// leftOnce demands that it is told once that something may be left over, in a text that has all words.
func (w *world) leftOnce(words ...string) {
	w.Helper()
	if told := w.toldLeft(); len(told) != 1 || !contains(told[0], words) {
		w.Errorf("want one warning with the words %q, got %q; of all: %v", words, told, w.events)
	}
}

// TestOutsideAllowedWhileUnresolved: the result of a creation is not known, and its user allows another account.
// What may be left in the first is told, once. Of what was observed it is told when another is created.
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
		if told := observed.toldLeft(); len(told) > 0 {
			w.Errorf("it was observed, and is told: %q", told)
		}
	})
}

// TestOutsideRestartedReplacedDeleted: a process that has begun sees an object with all its marks, and cannot look at
// its resource. Then a replace takes the finalizer and the annotations, and the object is deleted: it is told, once.
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

// unkept takes the finalizers from the object, whoever has put them back.
func (w *world) unkept() { w.change(func(v *volume.Volume) { v.Finalizers = nil }) }

// TestOutsideTakenBeforeARestart: Delete fails, somebody takes the finalizer, and another's keeps the object. The
// process that begins then has never seen our finalizer: what the object says is enough to tell, once.
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

// TestOutsideLetGoBeforeARestart: of an object that was let go, and that others still keep, the next process tells
// nothing.
func TestOutsideLetGoBeforeARestart(t *testing.T) {
	each(t, classes, func(w *world) {
		w.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/kept"} })
		w.run(time.Minute)
		w.cloud.Remove(w.cloud.Disks()[0].ID) // there is nothing to wait for
		w.Delete(atKey())
		w.run(10 * time.Minute)
		w.start()
		w.run(10 * time.Minute)
		if told := w.toldLeft(); len(told) > 0 || meta.FinalizerExists(w.get(), managed.FinalizerName) {
			w.Errorf("it was let go, and is told: %q", told)
		}

		released := w.again()
		released.create(func(v *volume.Volume) { v.Finalizers = []string{"foregroundDeletion"} })
		released.run(time.Minute)
		released.Delete(atKey())
		released.run(10 * time.Minute)
		released.start()
		released.run(10 * time.Minute)
		if told := released.toldLeft(); len(told) > 0 || len(released.cloud.Disks()) > 0 || released.Gone(atKey()) {
			w.Errorf("it was let go, and is told: %q", told)
		}
	})
}

// TestOutsideStatusAndTheNamespace: a write of the status is answered with the name of the namespace: one event says
// so, and blames no definition.
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

// TestOutsideUnresolvedOrphan: an object whose policy leaves its resource where it is goes at once, also while the
// result of its creation is not known. That is told, once; of what is known to be there nothing is.
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
		if told := known.toldLeft(); !w.Gone(atKey()) || !known.Gone(atKey()) || len(told) > 0 {
			w.Errorf("the objects are gone: %t, %t; what is known to be there is told: %q", w.Gone(atKey()),
				known.Gone(atKey()), told)
		}
	})
}

// TestOutsideRefusedResult: the API server refuses the result of a creation for two minutes. No record was taken, and
// none is said to be.
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
			w.Errorf("somebody is blamed: %v", w.events)
		}
		w.answer = nil
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// TestOutsideLateResult: the result of an earlier attempt is written over the record of the last creation, by another
// process or a manifest. The warning names what it led to.
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

// TestOutsideUnclaimedWrittenBack: the manifest of an object has UnclaimedFinalizer, and is written back over an object
// that is claimed. It is deleted, and the process that sees that is a new one: what is left is told, once.
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
		if told := never.toldLeft(); !w.Gone(atKey()) || !never.Gone(atKey()) || len(told) > 0 {
			w.Errorf("the objects are gone: %t, %t; of the one that was never claimed is told: %q", w.Gone(atKey()),
				never.Gone(atKey()), told)
		}
	})
}

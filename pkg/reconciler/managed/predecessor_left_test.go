package managed_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestRetiredMarksGoFromObjectsThatAreOurs verifies that retired marks are removed by one write from objects that
// were taken over before.
func TestRetiredMarksGoFromObjectsThatAreOurs(t *testing.T) {
	for name, tc := range map[string]struct {
		options    []managed.ReconcilerOption
		finalizers []string
		annotated  bool
	}{
		"a finalizer": {[]managed.ReconcilerOption{managed.WithRetiredFinalizers(theirFinalizer)},
			[]string{managed.FinalizerName}, true},
		"an annotation": {[]managed.ReconcilerOption{managed.WithRetiredAnnotations(theirName)},
			[]string{managed.FinalizerName, theirFinalizer}, false},
		"both": {[]managed.ReconcilerOption{managed.WithRetiredFinalizers(theirFinalizer),
			managed.WithRetiredAnnotations(theirName)}, []string{managed.FinalizerName}, false},
		"neither is": {nil, []string{managed.FinalizerName, theirFinalizer}, true},
		"another is one": {[]managed.ReconcilerOption{managed.WithRetiredAnnotations(theirPause)},
			[]string{managed.FinalizerName, theirFinalizer}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.options...)
			w.create(nil)
			w.pass()
			w.change(func(v *volume.Volume) {
				v.Finalizers = append(v.Finalizers, theirFinalizer)
				v.Annotations[theirName] = "vol-0"
			})
			w.restart()
			w.taken()
			w.pass()
			v := w.get()
			if _, annotated := v.Annotations[theirName]; !slices.Equal(v.Finalizers, tc.finalizers) ||
				annotated != tc.annotated {
				t.Errorf("finalizers %v, annotations %v", v.Finalizers, v.Annotations)
			}
			writes := "patch"
			if slices.Contains(v.Finalizers, theirFinalizer) && tc.annotated {
				writes = ""
			}
			w.expect(writes, look, "")
			w.pass()
			w.expect("", look, "")
		})
	}
}

// TestRetiredAnnotationsGoUnderAnAuthorsFinalizer verifies that retired annotations are removed with an author's
// finalizer once the object is created.
func TestRetiredAnnotationsGoUnderAnAuthorsFinalizer(t *testing.T) {
	added := 0
	w := newWorld(t, managed.WithRetiredAnnotations(theirName), managed.WithFinalizer(resource.FinalizerFns{
		AddFinalizerFn:    func(context.Context, resource.Object) error { added++; return nil },
		RemoveFinalizerFn: func(context.Context, resource.Object) error { return nil },
	}))
	w.cloud.Before = failing("Observe", errBoom)
	w.create(func(v *volume.Volume) { v.Annotations = map[string]string{theirName: "vol-0"} })
	_, _ = w.try()
	if added == 0 && w.get().Annotations[theirName] == "" {
		t.Error("it went before the author's finalizer was there")
	}
	w.cloud.Before = nil
	w.pass()
	w.pass()
	if a := w.get().Annotations; added == 0 || a[theirName] != "" || meta.GetExternalName(w.get()) == "" {
		t.Errorf("a finalizer was added %d times; annotations %v", added, a)
	}
}

// TestMarksOfAPredecessorDoNotCountOnAnObjectWithOurFinalizer verifies that annotations of a predecessor that a
// manifest adds to an object of ours do not count.
func TestMarksOfAPredecessorDoNotCountOnAnObjectWithOurFinalizer(t *testing.T) {
	for name, forgets := range map[string]func(*volume.Volume){
		"nothing was lost":          func(*volume.Volume) {},
		"its annotations were lost": func(v *volume.Volume) { v.Annotations = map[string]string{} },
	} {
		for _, restarts := range []bool{false, true} {
			w := succeeding(t)
			w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
			w.pass()
			ours := meta.GetExternalName(w.get())
			w.change(func(v *volume.Volume) {
				forgets(v)
				v.Annotations[theirName] = "vol-0"
			})
			if restarts {
				w.restart()
			}
			_, _ = w.try()
			_, _ = w.try()
			if got := meta.GetExternalName(w.get()); got == "vol-0" || name == "nothing was lost" && got != ours ||
				len(w.cloud.Disks()) != 2 {
				t.Errorf("%s, restarted %t: external name %q, was %q; disks %v", name, restarts, got, ours,
					w.cloud.Disks())
			}
		}
	}
}

// TestAPredecessorThatLeftNothingCostsNothing verifies that an object without marks of a predecessor costs no
// additional request.
func TestAPredecessorThatLeftNothingCostsNothing(t *testing.T) {
	plain, w := newWorld(t), succeeding(t)
	for _, of := range []*world{plain, w} {
		of.create(nil)
		of.pass()
	}
	w.expect(plain.taken())
	// Nor does one that is paused.
	g := newGallery(t, managed.WithPredecessor("crossplane.io"))
	g.create(policies())
	g.pass()
	g.expect("patch status", "", "Normal/ReconciliationPaused")
}

// TestEachTraceTellsThatAnObjectIsOurs verifies that each record of a creation alone makes an object ours after a
// restart, so that no marks of a predecessor count. A failure, or a provider's own condition Created, does not.
func TestEachTraceTellsThatAnObjectIsOurs(t *testing.T) {
	says := func(status metav1.ConditionStatus, reason commonv1.ConditionReason, message string) func(*volume.Volume) {
		return func(v *volume.Volume) {
			v.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: status, Reason: reason, Message: message,
				LastTransitionTime: metav1.Now(),
			})
		}
	}
	marks := func(key string) func(*volume.Volume) {
		return func(v *volume.Volume) { v.Annotations[key] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) }
	}
	for name, tc := range map[string]struct {
		leave func(*volume.Volume)
		ours  bool
	}{
		"a finalizer, which may be stored without the marks that were taken over": {func(v *volume.Volume) {
			v.Finalizers = append(v.Finalizers, managed.FinalizerName)
		}, false},
		"a record in the status, of what was found":    {says("True", commonv1.ReasonObserved, ""), true},
		"a record in the status, of a question":        {says("Unknown", commonv1.ReasonUnresolved, ""), true},
		"a record in the status, of what was given up": {says("False", commonv1.ReasonGivenUp, ""), true},
		"a condition of the provider's own": {says("True", "VolumeCreated", "the volume was created"),
			false},
		"the same while it is created": {says("False", "InProgress", ""), false},
		"a mark of a beginning":        {marks(meta.AnnotationKeyExternalCreatePending), true},
		"a mark of a success":          {marks(meta.AnnotationKeyExternalCreateSucceeded), true},
		"an attempt":                   {marks(meta.AnnotationKeyCreateAttempt), true},
		"the note of a question":       {marks(meta.AnnotationKeyWasUnresolved), true},
		"a mark of a failure alone":    {marks(meta.AnnotationKeyExternalCreateFailed), false},
		"nothing":                      {func(*volume.Volume) {}, false},
	} {
		w := succeeding(t)
		w.create(func(v *volume.Volume) {
			left()(v)
			tc.leave(v)
		})
		_, _ = w.try()
		if got := meta.GetExternalName(w.get()) == "vol-0"; got == tc.ours {
			t.Errorf("%s: external name %q", name, meta.GetExternalName(w.get()))
		}
	}
}

// TestRetiredAnnotationsAreNamedInParts verifies that repeated options add names.
func TestRetiredAnnotationsAreNamedInParts(t *testing.T) {
	w := newWorld(t, managed.WithRetiredAnnotations(theirName), managed.WithRetiredAnnotations(theirPause))
	w.create(func(v *volume.Volume) { v.Annotations = map[string]string{theirName: "vol-0", theirPause: "false"} })
	w.pass()
	w.pass()
	if a := w.get().Annotations; a[theirName] != "" || a[theirPause] != "" {
		t.Errorf("annotations %v", a)
	}
}

// TestRetiredAnnotationsGoWhileTheExternalSystemIsAway verifies that retired annotations are removed before any
// external call.
func TestRetiredAnnotationsGoWhileTheExternalSystemIsAway(t *testing.T) {
	w := newWorld(t, managed.WithRetiredAnnotations(theirName))
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Annotations[theirName] = "vol-0" })
	w.cloud.Before = failing("Observe", errBoom)
	_, _ = w.try()
	if a := w.get().Annotations; a[theirName] != "" || a[meta.AnnotationKeyExternalName] == "" {
		t.Errorf("annotations %v", a)
	}
}

// TestAnObjectThatComesBackFromAPredecessorIsTakenOver verifies that an object with a failed creation that a
// predecessor's manifest replaces is taken over, and keeps its backend identity.
func TestAnObjectThatComesBackFromAPredecessorIsTakenOver(t *testing.T) {
	w := succeeding(t)
	w.cloud.Account = "north"
	w.cloud.Before = failing("Create", external.NotCreated(errBoom))
	w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
	_, _ = w.try()
	if w.get().Annotations[meta.AnnotationKeyBackendIdentity] != "north" {
		t.Fatalf("annotations %v", w.get().Annotations)
	}
	w.cloud.Before = nil
	w.change(left())
	w.pass()
	if a := w.get().Annotations; a[meta.AnnotationKeyExternalName] != "vol-0" ||
		a[meta.AnnotationKeyBackendIdentity] != "north" || len(w.cloud.Disks()) != 1 {
		t.Errorf("annotations %v, disks %v", a, w.cloud.Disks())
	}
}

// TestMarksOfAPredecessorAreStoredWhileTheExternalSystemIsAway verifies that marks of a predecessor are stored
// before any external call.
func TestMarksOfAPredecessorAreStoredWhileTheExternalSystemIsAway(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w := succeeding(t)
		w.cloud.Before = failing("Observe", errBoom)
		w.create(left())
		if deleted {
			w.delete()
		}
		_, _ = w.try()
		if a := w.get().Annotations; a[meta.AnnotationKeyExternalName] != "vol-0" || a[theirName] != "vol-0" {
			t.Errorf("deleted %t: annotations %v", deleted, a)
		}
	}
}

package managed_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// What another runtime left on objects: its finalizer, and annotations of its domain.
const (
	theirFinalizer = "finalizer.managedresource.crossplane.io"
	theirPause     = "crossplane.io/paused"
	theirName      = "crossplane.io/external-name"
	theirPending   = "crossplane.io/external-create-pending"
	theirSucceeded = "crossplane.io/external-create-succeeded"
)

// succeeding is a world whose objects a predecessor kept, with a disk that it made.
func succeeding(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	w := newWorld(t, append([]managed.ReconcilerOption{managed.WithPredecessor("crossplane.io"),
		managed.WithRetiredFinalizers(theirFinalizer)}, o...)...)
	w.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})

	return w
}

// left gives an object what a predecessor leaves on one for which it created a disk.
func left(keysAndValues ...string) func(*volume.Volume) {
	return func(v *volume.Volume) {
		v.Spec.SizeGiB = 1
		v.Finalizers = []string{theirFinalizer}
		at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		v.Annotations = map[string]string{theirName: "vol-0", theirPending: at, theirSucceeded: at}
		for i := 0; i < len(keysAndValues); i += 2 {
			v.Annotations[keysAndValues[i]] = keysAndValues[i+1]
		}
	}
}

func TestObjectsOfAPredecessorAreTakenOver(t *testing.T) {
	w := succeeding(t)
	w.create(left())
	w.pass()
	v := w.get()
	if got := meta.GetExternalName(v); got != "vol-0" || len(w.cloud.Disks()) != 1 {
		t.Errorf("external name %q and disks %v", got, w.cloud.Disks())
	}
	if !slices.Equal(v.Finalizers, []string{theirFinalizer, managed.FinalizerName}) {
		t.Errorf("finalizers %v: the predecessor's goes once ours is stored", v.Finalizers)
	}
	w.pass()
	if v = w.get(); !slices.Equal(v.Finalizers, []string{managed.FinalizerName}) {
		t.Errorf("finalizers %v: the predecessor's goes by the write after the one that stores ours", v.Finalizers)
	}
	if v.Annotations[theirName] != "vol-0" {
		t.Error("the predecessor does not find its marks if it comes back")
	}
	w.taken()
	w.pass()
	w.expect("", look, "")
	w.delete()
	w.pass()
	w.pass()
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("disks %v", w.cloud.Disks())
	}
}

// TestAPredecessorsPauseHolds verifies that a predecessor's pause holds until it is removed, or ours is "false";
// nothing is written meanwhile.
func TestAPredecessorsPauseHolds(t *testing.T) {
	for name, end := range map[string]func(*volume.Volume){
		"removed":    func(v *volume.Volume) { delete(v.Annotations, theirPause) },
		"overridden": func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "false" },
	} {
		w := succeeding(t)
		w.create(left(theirPause, "true"))
		w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 5 })
		w.pass()
		w.pass()
		v := w.get()
		if disks := w.cloud.Disks(); len(disks) != 1 || disks[0].SizeGiB != 1 ||
			!slices.Equal(v.Finalizers, []string{theirFinalizer}) || meta.GetExternalName(v) != "" {
			t.Errorf("%s: a paused object was changed: disks %v, finalizers %v, annotations %v", name, disks,
				v.Finalizers, v.Annotations)
		}
		if c := v.GetCondition("Synced"); c.Reason != "ReconcilePaused" {
			t.Errorf("%s: it does not say that it is paused: %v", name, c)
		}
		if _, _, events := w.taken(); strings.Contains(events, "managementPolicies") {
			t.Errorf("%s: %s", name, events)
		}
		w.change(end)
		w.pass()
		if disks := w.cloud.Disks(); len(disks) != 1 || disks[0].SizeGiB != 5 {
			t.Errorf("%s: disks %v", name, disks)
		}
	}
}

// TestAPredecessorsPauseIsNamed verifies that a predecessor's pause is reported with its annotation, and how to
// resume.
func TestAPredecessorsPauseIsNamed(t *testing.T) {
	const ours = meta.AnnotationKeyReconciliationPaused
	for name, tc := range map[string]struct {
		annotations []string
		want        string
	}{
		"theirs alone": {[]string{theirPause, "true"},
			"paused by the annotation " + theirPause + ": to resume, remove it, or set " + ours + ` to "false"`},
		"ours without text": {[]string{theirPause, "true", ours, ""},
			"paused by the annotation " + theirPause + ": to resume, remove it, or set " + ours + ` to "false"`},
		"both": {[]string{theirPause, "true", ours, "true"},
			"paused by the annotations " + ours + " and " + theirPause + ": to resume, set " + ours +
				` to "false", or remove both`},
		"ours alone": {[]string{ours, "true"}, ""},
	} {
		w := succeeding(t)
		w.create(left(tc.annotations...))
		w.pass()
		if c := w.condition(commonv1.TypeSynced, "False/ReconcilePaused"); c.Message != tc.want {
			t.Errorf("%s: it says %q", name, c.Message)
		}
	}
}

// TestAnInterruptedCreationOfAPredecessorIsKnown verifies that an interrupted creation of a predecessor is not
// repeated.
func TestAnInterruptedCreationOfAPredecessorIsKnown(t *testing.T) {
	w := succeeding(t)
	w.create(func(v *volume.Volume) {
		left()(v)
		delete(v.Annotations, theirName)
		delete(v.Annotations, theirSucceeded)
	})
	w.pass()
	if n := w.cloud.Count("Create"); n != 0 {
		t.Errorf("%d calls of Create", n)
	}
	if c := w.get().GetCondition("Synced"); c.Status != "False" ||
		!strings.Contains(c.Message, "cannot determine creation result") {
		t.Errorf("%v", c)
	}
}

// TestTheMarkOfAPredecessorMayStay verifies that removing our pending mark answers the question, although the
// predecessor's mark stays.
func TestTheMarkOfAPredecessorMayStay(t *testing.T) {
	const ours, at = meta.AnnotationKeyExternalCreatePending, "2020-01-02T03:04:05Z"
	w := succeeding(t)
	w.create(func(v *volume.Volume) {
		v.Annotations = map[string]string{theirPending: at, ours: at}
		v.Finalizers = []string{theirFinalizer}
	})
	w.pass()
	w.pass()
	if c := w.get().GetCondition("Synced"); !strings.Contains(c.Message, ours) || w.cloud.Count("Create") != 0 {
		t.Errorf("%d calls of Create, and it says %v", w.cloud.Count("Create"), c)
	}
	w.change(func(v *volume.Volume) { delete(v.Annotations, ours) })
	w.pass()
	w.pass()
	if v := w.get(); w.cloud.Count("Create") != 1 || v.Annotations[theirPending] != at ||
		v.GetCondition("Synced").Status != "True" {
		t.Errorf("%d calls of Create, %v, and it says %v", w.cloud.Count("Create"), v.Annotations,
			v.GetCondition("Synced"))
	}
}

// TestObjectsThatAPredecessorLeftInDeletion verifies that an object that only a predecessor's finalizer kept is
// deleted in the external system first.
func TestObjectsThatAPredecessorLeftInDeletion(t *testing.T) {
	w := succeeding(t)
	w.create(left())
	w.delete()
	w.pass()
	w.pass()
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("disks %v, object gone: %t", w.cloud.Disks(), w.gone())
	}
}

// TestMarksOfAPredecessorDoNotCountOnceThereAreOurs verifies that our marks precede a predecessor's in a manifest.
func TestMarksOfAPredecessorDoNotCountOnceThereAreOurs(t *testing.T) {
	w := succeeding(t)
	w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
	w.pass()
	ours := meta.GetExternalName(w.get())
	w.change(func(v *volume.Volume) { // as kubectl replace does
		v.Finalizers, v.Annotations = nil, map[string]string{theirName: "vol-0"}
	})
	w.pass()
	if got := meta.GetExternalName(w.get()); got != ours || len(w.cloud.Disks()) != 2 {
		t.Errorf("external name %q, was %q; disks %v", got, ours, w.cloud.Disks())
	}
	w.change(func(v *volume.Volume) { v.Finalizers, v.Annotations = nil, map[string]string{theirName: "vol-0"} })
	w.restart() // only the status has it
	w.pass()
	if got := meta.GetExternalName(w.get()); got != ours {
		t.Errorf("after a restart: external name %q, was %q", got, ours)
	}
}

// TestRetiredAnnotationsGo verifies that retired annotations are removed once the object is ours, but not while it
// is paused.
func TestRetiredAnnotationsGo(t *testing.T) {
	w := succeeding(t, managed.WithRetiredAnnotations(theirName, theirPending, theirSucceeded, theirPause))
	w.create(left(theirPause, "true"))
	w.pass()
	if n := len(w.get().Annotations); n != 4 {
		t.Errorf("%d annotations on a paused object", n)
	}
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "false" })
	w.pass()
	w.pass()
	v := w.get()
	for key := range v.Annotations {
		if strings.HasPrefix(key, "crossplane.io/") {
			t.Errorf("%s is left", key)
		}
	}
	if meta.GetExternalName(v) != "vol-0" || len(w.cloud.Disks()) != 1 {
		t.Errorf("external name %q, disks %v", meta.GetExternalName(v), w.cloud.Disks())
	}
	w.taken()
	w.pass()
	w.expect("", look, "")
}

// TestANameThatAPredecessorsUserChoseCounts verifies that with deterministic names the name of the predecessor's
// user counts.
func TestANameThatAPredecessorsUserChoseCounts(t *testing.T) {
	w := succeeding(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.create(left())
	w.pass()
	if got := meta.GetExternalName(w.get()); got != "vol-0" || len(w.cloud.Disks()) != 1 {
		t.Errorf("external name %q, disks %v", got, w.cloud.Disks())
	}
}

// TestAnUnknownCreationOfAPredecessorIsNotRepeatedByAToken verifies that an unresolved creation without an id is
// not repeated with a token.
func TestAnUnknownCreationOfAPredecessorIsNotRepeatedByAToken(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for name, marks := range map[string]map[string]string{
		"of crossplane-runtime":              {theirPending: at},
		"of provider-runtime":                {meta.AnnotationKeyExternalCreatePending: at},
		"of crossplane-runtime, and no name": {theirPending: at, theirSucceeded: at},
	} {
		for _, deleted := range []bool{false, true} {
			w := succeeding(t, managed.WithCreationTokens())
			w.create(func(v *volume.Volume) {
				v.Spec.SizeGiB, v.Finalizers, v.Annotations = 1, []string{theirFinalizer}, marks
			})
			if deleted {
				w.delete()
			}
			for range 3 {
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
				w.pass()
			}
			if n := w.cloud.Count("Create"); n != 0 {
				t.Errorf("%s, being deleted %t: %d calls of Create", name, deleted, n)
			}
			if c := w.get().GetCondition("Synced"); c.Status != "False" {
				t.Errorf("%s, being deleted %t: it does not ask: %v", name, deleted, c)
			}
		}
	}
}

// TestAnUnknownCreationOfAPredecessorCanBeAnsweredInDeletion verifies that the marks in question are on the object,
// also if it is being deleted, and that their removal is an answer.
func TestAnUnknownCreationOfAPredecessorCanBeAnsweredInDeletion(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for name, marks := range map[string]map[string]string{
		"nobody knows the result": {theirPending: at},
		"nobody knows the result, after another one": {
			theirPending:   at,
			theirSucceeded: time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339),
		},
		"nobody knows the name": {theirPending: at, theirSucceeded: at},
	} {
		w := succeeding(t)
		w.create(func(v *volume.Volume) { v.Finalizers, v.Annotations = []string{theirFinalizer}, marks })
		w.delete()
		for range 3 {
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.pass()
		}
		if c := w.get().GetCondition("Synced"); c.Status != "False" || meta.GetExternalCreatePending(w.get()).IsZero() {
			t.Errorf("%s: it asks %v, and has the annotations %v", name, c, w.get().Annotations)
		}
		w.change(func(v *volume.Volume) {
			delete(v.Annotations, meta.AnnotationKeyExternalCreatePending)
			delete(v.Annotations, meta.AnnotationKeyExternalCreateSucceeded)
		})
		w.restart()
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
		if !w.gone() || w.cloud.Count("Create") != 0 {
			t.Errorf("%s: the object stays: %v", name, w.get())
		}
	}
}

// TestAConditionOfAPredecessorIsNotOfThisGeneration verifies that a Ready without a generation does not count for
// the present one before an observation.
func TestAConditionOfAPredecessorIsNotOfThisGeneration(t *testing.T) {
	w := succeeding(t)
	w.create(left(theirPause, "true"))
	theirs := w.get()
	theirs.SetConditions(commonv1.Available())
	w.Must(w.API.Status().Update(t.Context(), theirs))
	w.pass()
	if c := w.get().GetCondition("Ready"); c.ObservedGeneration != 0 {
		t.Errorf("a paused object, at which nobody looked: %v", c)
	}
	w.change(func(v *volume.Volume) { delete(v.Annotations, theirPause) })
	w.pass()
	v := w.get()
	if c := v.GetCondition("Ready"); c.Status != "True" || c.ObservedGeneration != v.Generation {
		t.Errorf("after an observation of generation %d: %v", v.Generation, c)
	}
}

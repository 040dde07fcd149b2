package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func TestARecurringFailureIsReportedAgain(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	for range 2 {
		w.cloud.Before = failing("Observe", errors.New("boom"))
		_, _ = w.try()
		_, _ = w.try()
		w.cloud.Before = nil
		w.pass()
	}
	const warning = "Warning/CannotObserveExternalResource"
	if _, _, events := w.taken(); events != warning+", "+warning {
		t.Errorf("events %q", events)
	}
}

// TestAnEditIsNoNews verifies that an unchanged condition causes no event for another generation, also while the
// object is paused, and in a new process.
func TestAnEditIsNoNews(t *testing.T) {
	for name, arrange := range map[string]func(*world){
		"paused": func(w *world) {
			w.change(func(v *volume.Volume) {
				v.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
			})
		},
		"waits": func(w *world) { w.cloud.Hidden = func(string) bool { return true } },
		"refused": func(w *world) {
			w.cloud.Before = failing("Observe",
				external.Terminal("NoDots", errors.New("no")))
		},
	} {
		for _, restart := range []bool{false, true} {
			w := newWorld(t)
			w.create(nil)
			arrange(w)
			_, _ = w.try()
			_, _ = w.try()
			if _, _, events := w.taken(); events == "" {
				t.Fatalf("%s: nothing was told", name)
			}
			if restart {
				w.restart()
			}
			w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
			_, _ = w.try()
			if _, _, events := w.taken(); events != "" {
				t.Errorf("%s (restart %t): an edit is told as %s", name, restart, events)
			}
			if got := w.get().GetCondition("Synced").ObservedGeneration; got != 2 {
				t.Errorf("%s (restart %t): the object speaks of generation %d", name, restart, got)
			}
		}
	}
}

func TestConflictsInARowAreThoseInARow(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	for range 4 {
		w.cloud.Before = failing("Observe", conflict())
		for range 4 {
			w.pass()
		}
		w.cloud.Before = nil
		w.pass()
	}
}

func TestWaitingBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	ready := false
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" && !ready {
			c := commonv1.Unavailable()
			c.LastTransitionTime = metav1.NewTime(w.clock.Now())
			mg.SetConditions(c)
		}

		return nil
	}
	for range 2 {
		for i, want := range []time.Duration{time.Second, time.Second, 4 * time.Second} {
			if got := w.pass().RequeueAfter; got.Round(time.Second) != want {
				t.Errorf("wait %d: %s, want %s", i, got, want)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Duration(i) * 41 * time.Second))
			if i == 0 {
				w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
			}
		}
		ready = true
		w.pass()
		ready = false
	}
}

func TestUpdatesThatShowStartTheCountAnew(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	for range 2 {
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Update" {
				w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 9})
			}

			return nil
		}
		w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 9})
		w.pass()
		w.pass()
		w.cloud.After = nil
		w.pass()
	}
	if _, _, events := w.taken(); strings.Contains(events, "KeepsChanging") {
		t.Errorf("events %q: twice is not three times", events)
	}
}

func TestUpToDateIsShownOnceSomethingDiffered(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.pass()
	if c := w.get().GetCondition("UpToDate"); c.Reason != "" {
		t.Errorf("condition %+v of an object that never differed", c)
	}
}

func TestAnObjectThatGoesDuringAPassIsNoError(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	d := w.cloud.Disks()[0]
	d.UsedBytes = 7
	w.cloud.Put(d)
	w.answer = func(context.Context, string) error {
		w.change(func(v *volume.Volume) { v.Finalizers = nil })
		w.delete()

		return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
	}
	if got := w.pass(); !got.IsZero() {
		t.Errorf("result %v", got)
	}
	w.expect(status, "Connect Observe", "")
}

func TestAStatusIsWrittenWhenTimeIsUp(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	w.cloud.Before = func(context.Context, string, resource.Managed) error { return errors.New("too late") }
	_, err := w.r.Reconcile(ctx, request())
	if err == nil || w.get().GetCondition("Synced").Message == "" {
		t.Errorf("error %v, condition %+v", err, w.get().GetCondition("Synced"))
	}
}

func TestConditionsOfAKindAreStampedToo(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" {
			mg.SetConditions(commonv1.Condition{Type: "Encrypted", Status: metav1.ConditionTrue, Reason: "ByDefault"})
		}

		return nil
	}
	w.create(func(v *volume.Volume) { v.Generation = 4 })
	w.pass()
	w.condition("Encrypted", "True/ByDefault")
	w.taken()
	w.pass()
	w.expect("", "Connect Observe", "")
}

func TestAMissingResourceIsNotReady(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyManagementPolicy] = "observe" })
	w.cloud.Remove("vol-1")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.condition("Ready", "False/Unavailable")
	w.condition("Synced", "False/ExternalResourceMissing")
}

func TestAForeignResourceIsNotRecordedAsObserved(t *testing.T) {
	owner := managed.OwnerOther
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
	w.create(nil)
	w.pass() // created, and claimed by another writer in between
	w.condition("Synced", "False/ExternalResourceNotOwned")
	w.cloud.Remove("vol-1")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if n := len(w.cloud.Disks()); n != 0 {
		t.Errorf("%d disks: what was never seen as ours was created again", n)
	}
}

func TestASecondCreationHasAWindowOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.cloud.Remove("vol-1")
	w.cloud.Hidden = func(string) bool { return true }
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(20 * time.Second))
	w.pass()
	w.condition("Synced", "Unknown/CreationPending")
}

func TestSpecIsOnlyStoredIfObserveSaysSo(t *testing.T) {
	w := newWorld(t)
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if v, ok := mg.(*volume.Volume); ok && call == "Observe" {
			v.Spec.Tier = "scribbled"
		}

		return nil
	}
	w.create(nil)
	w.pass()
	w.pass()
	if got := w.get().Spec.Tier; got != "" {
		t.Errorf("tier %q", got)
	}
}

func TestAPatchThatIsTooLargeLosesNoName(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Create" {
			meta.AddAnnotations(mg, map[string]string{"example.org/huge": strings.Repeat("x", 4<<20)})
		}

		return nil
	}
	w.answer = func(_ context.Context, note string) error {
		if len(note) > 3<<20 {
			return kerrors.NewRequestEntityTooLargeError("limit is 3145728")
		}

		return nil
	}
	w.pass()
	if got := meta.GetExternalName(w.get()); got != "vol-1" {
		t.Errorf("external name %q", got)
	}
}

func TestAnAuthorsUpdaterAndANameOfOurOwn(t *testing.T) {
	calls := 0
	w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithCriticalAnnotationUpdater(
		managed.CriticalAnnotationUpdateFn(func(context.Context, client.Object) error {
			calls++

			return nil
		})))
	w.cloud.Named = true
	w.create(nil)
	w.pass()
	if calls != 0 {
		t.Errorf("called %d times although Create set no annotation", calls)
	}
}

func TestEventsNameTheExternalResource(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	if got := strings.Join(w.annotated, " "); got != "external-name vol-1" {
		t.Errorf("annotations %q", got)
	}
}

func TestEventsBeforeAnyPassAreForUs(t *testing.T) {
	w := newWorld(t)
	before := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new", UID: "u"}}
	after := copyOf(before)
	meta.SetExternalName(after, "restored")
	if !w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a change of an object that was never looked at is dropped")
	}
}

func TestPassesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	before := counted(t, "moorage_managed_passes_total", "kept")
	w.pass()
	if got := counted(t, "moorage_managed_passes_total", "kept") - before; got != 1 {
		t.Errorf("%v passes were counted", got)
	}
	before = counted(t, "moorage_managed_terminal_errors_total", "InvalidName")
	w.cloud.Before = failing("Observe", external.Terminal("InvalidName", errors.New("no dots")))
	w.pass()
	if got := counted(t, "moorage_managed_terminal_errors_total", "InvalidName") - before; got != 1 {
		t.Errorf("%v terminal errors were counted", got)
	}
}

func counted(t *testing.T, name, value string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == name && label.GetValue() == value {
					total += m.GetCounter().GetValue()
				}
			}
		}
	}

	return total
}

// TestWarningsHaveARecorderOfTheirOwn verifies that warnings can have their own recorder, which gets no Normal
// events.
func TestWarningsHaveARecorderOfTheirOwn(t *testing.T) {
	warnings := &world{}
	w := newWorld(t, managed.WithThrottledRecorder(warnings))
	w.cloud.Before = failing("Create", external.NotCreated(errors.New("no room")))
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = nil
	w.pass()
	for recorder, want := range map[*world]string{
		w: "Normal/CreatedExternalResource", warnings: "Warning/CannotCreateExternalResource",
	} {
		var got []string
		for _, e := range recorder.events {
			got = append(got, string(e.Type)+"/"+string(e.Reason))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

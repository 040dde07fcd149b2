package managed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func TestPolicies(t *testing.T) {
	const (
		missing = "missing"
		differs = "differs"
		deleted = "deleted"
	)
	management, deletion := meta.AnnotationKeyManagementPolicy, meta.AnnotationKeyDeletionPolicy
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		state       string
		calls       string
		synced      string // of an object that is still there
		after       time.Duration
		left        int // disks
	}{
		"ObserveMissing": {"observe never creates", map[string]string{management: "observe"}, missing,
			"Connect Observe", "False/ExternalResourceMissing", time.Minute, 0},
		"ObserveDiffers": {"observe never updates", map[string]string{management: "observe"}, differs,
			"Connect Observe", "True/ReconcileSuccess", time.Minute, 1},
		"ObserveDeleted": {"observe never deletes, and needs no look to know",
			map[string]string{management: "observe"}, deleted, "", "", 0, 1},
		"ObserveDeleteMissing": {"what may not be created and is missing is no success",
			map[string]string{management: "observe-delete"}, missing, "Connect Observe",
			"False/ExternalResourceMissing", time.Minute, 0},
		"ObserveDeleteDeleted": {"observe-delete deletes", map[string]string{management: "observe-delete"}, deleted,
			"Connect Observe Delete Observe", "", 0, 0},
		"OrphanWins": {"orphan always wins",
			map[string]string{management: "observe-delete", deletion: "orphan"}, deleted, "", "", 0, 1},
		"Orphan": {"orphan leaves the resource", map[string]string{deletion: "orphan"}, deleted, "",
			"", 0, 1},
		"NoDelete": {"observe-create-update updates",
			map[string]string{management: "observe-create-update"}, differs, "Connect Observe Update Observe",
			"True/ReconcileSuccess", time.Minute, 1},
		"NoDeleteDeleted": {"observe-create-update leaves the resource",
			map[string]string{management: "observe-create-update"}, deleted, "", "", 0, 1},
		"Unknown": {"what is not understood is refused", map[string]string{management: "Default"},
			differs, "", "False/InvalidManagementPolicy", 10 * time.Minute, 1},
		"UnknownDeleted": {"also when the object is deleted", map[string]string{management: "bogus"}, deleted,
			"", "False/InvalidManagementPolicy", 10 * time.Minute, 1},
		"UnknownDeletion": {"and for the other policy", map[string]string{deletion: "Orphan"}, deleted, "",
			"False/InvalidManagementPolicy", 10 * time.Minute, 1},
		"UnknownAdoption": {"and for the third", map[string]string{meta.AnnotationKeyAdoptionPolicy: "maybe"},
			missing, "", "False/InvalidManagementPolicy", 10 * time.Minute, 0},
		"PausedDeleted": {"pause outranks deletion",
			map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}, deleted, "", "False/ReconcilePaused",
			10 * time.Minute, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			if tc.state != missing {
				w.pass()
				w.taken()
			}
			w.change(func(v *volume.Volume) { meta.AddAnnotations(v, tc.annotations) })
			switch tc.state {
			case differs:
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 5 })
			case deleted:
				w.delete()
			}
			if got := w.pass().RequeueAfter; got != tc.after {
				t.Errorf("%s: next pass after %s, want %s", tc.reason, got, tc.after)
			}
			if _, calls, _ := w.taken(); calls != tc.calls {
				t.Errorf("%s: calls %q, want %q", tc.reason, calls, tc.calls)
			}
			if got := len(w.cloud.Disks()); got != tc.left {
				t.Errorf("%s: %d disks left, want %d", tc.reason, got, tc.left)
			}
			if gone := w.gone(); gone != (tc.synced == "") {
				t.Fatalf("%s: gone %t", tc.reason, gone)
			}
			if tc.synced == "" {
				return
			}
			if c := w.condition("Synced", tc.synced); !strings.HasPrefix(tc.synced, "True") && c.Message == "" &&
				!strings.Contains(tc.synced, "Paused") {
				t.Errorf("%s: the condition does not say what to do", tc.reason)
			}
			w.pass()
			w.expect("", again(tc.calls), "")
		})
	}
}

// again returns the calls of a pass that follows one with these calls.
func again(calls string) string {
	if strings.Contains(calls, "Update") {
		return "Connect Observe"
	}

	return calls
}

func TestADifferenceThePolicyForbidsToCorrectIsShown(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) {
		v.Annotations[meta.AnnotationKeyManagementPolicy] = "observe"
		v.Spec.SizeGiB = 3
	})
	w.pass()
	w.condition("UpToDate", "False/UpdateRestricted")
	w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyManagementPolicy) })
	w.pass()
	w.condition("UpToDate", "True/ObserveMatched")
}

// TestADeleteWithoutEffectIsReported verifies that a Delete without effect is repeated at each poll, and reported
// once after an hour.
func TestADeleteWithoutEffectIsReported(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.cloud.Swallow = errors.New("swallowed")
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Delete" {
			return w.cloud.Swallow
		}

		return nil
	}
	w.delete()
	w.taken()
	for range 59 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if _, calls, events := w.taken(); !strings.Contains(calls, "Delete") || strings.Contains(events, "Warning") {
		t.Fatalf("within an hour: calls %s, events %s", calls, events)
	}
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	w.pass()
	w.expect(status, "Connect Observe Delete Observe Connect Observe Delete Observe",
		"Warning/ExternalResourceKeepsExisting")
	if c := w.condition("Synced", "True/ReconcileSuccess"); !strings.Contains(c.Message, "still exists") {
		t.Errorf("message %q", c.Message)
	}
}

func TestOthersFinalizersDelayTheDeletion(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/backup", "foregroundDeletion"} })
	w.pass()
	w.taken()
	w.delete()
	w.pass()
	w.pass()
	w.expect(status, "Connect Observe Connect Observe", "")
	if c := w.condition("Synced", "True/ReconcileSuccess"); !strings.Contains(c.Message, "example.org/backup") ||
		strings.Contains(c.Message, "foreground") {
		t.Errorf("message %q, want it to name whom we wait for", c.Message)
	}
	w.clock.SetTime(w.clock.Now().Add(59 * time.Minute))
	w.pass()
	w.expect("", "Connect Observe", "")
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	w.pass()
	w.pass()
	w.expect(status, "Connect Observe Connect Observe", "Warning/WaitingForFinalizers")

	w.change(func(v *volume.Volume) { v.Finalizers = []string{managed.FinalizerName, "foregroundDeletion"} })
	w.pass()
	w.expect("patch", "Connect Observe Delete Observe", "Normal/DeletedExternalResource")
	if v := w.get(); len(v.Finalizers) != 1 || v.Finalizers[0] != "foregroundDeletion" {
		t.Errorf("finalizers %v, want only Kubernetes' own", v.Finalizers)
	}
}

func TestIgnoredFinalizersDoNotDelay(t *testing.T) {
	w := newWorld(t, managed.WithIgnoredFinalizers("example.org/audit"))
	w.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/audit"} })
	w.pass()
	w.delete()
	w.pass()
	if n := len(w.cloud.Disks()); n != 0 {
		t.Errorf("%d disks", n)
	}
}

func TestADeletedObjectThatWeDoNotHoldIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{"example.org/other"}
		meta.SetExternalName(v, "vol-9")
	})
	w.delete()
	w.pass()
	w.expect("", "", "")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks: what was never ours was deleted", n)
	}
}

func TestIntervals(t *testing.T) {
	cases := map[string]struct {
		reason     string
		annotation string
		option     managed.ReconcilerOption
		want       time.Duration
		warned     bool
	}{
		"Default": {"a minute by default", "", nil, time.Minute, false},
		"Own":     {"an object may ask for its own", "5m", nil, 5 * time.Minute, false},
		"Floor": {"but not for too little", "1ms", managed.WithMinPollInterval(10 * time.Second),
			10 * time.Second, false},
		"Malformed":    {"what is no interval harms nobody and is told", "often", nil, time.Minute, true},
		"Negative":     {"nor is a negative one", "-5s", nil, time.Minute, true},
		"ZeroOption":   {"nor is zero, by option", "", managed.WithPollInterval(0), time.Minute, false},
		"HookPositive": {"a hook decides", "5m", managed.WithPollIntervalHook(hook(2)), 10 * time.Minute, false},
		"HookNegative": {"but a delay is never zero or less", "", managed.WithPollIntervalHook(hook(-1)),
			time.Minute, false},
		"NilHook": {"a hook that is nil is none", "", managed.WithPollIntervalHook(nil), time.Minute, false},
		"Jitter": {"jitter larger than the interval cannot stop polling", "",
			managed.WithPollJitterHook(time.Hour), time.Minute, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var options []managed.ReconcilerOption
			if tc.option != nil {
				options = append(options, tc.option)
			}
			if name == "Jitter" {
				options = append(options, managed.WithRandom(func() float64 { return 0 })) // minus an hour
			}
			w := newWorld(t, options...)
			w.create(func(v *volume.Volume) {
				if tc.annotation != "" {
					v.Annotations = map[string]string{meta.AnnotationKeyPollInterval: tc.annotation}
				}
			})
			for range 3 {
				if got := w.pass().RequeueAfter; got != tc.want {
					t.Errorf("%s: next pass after %s, want %s", tc.reason, got, tc.want)
				}
			}
			_, _, events := w.taken()
			if got := strings.Count(events, "InvalidPollInterval"); (got == 1) != tc.warned || got > 1 {
				t.Errorf("%s: %d warnings", tc.reason, got)
			}
			w.condition("Synced", "True/ReconcileSuccess")
		})
	}
}

func TestDelaysAreJitteredByDefault(t *testing.T) {
	for _, random := range []float64{0, 0.25, 0.999} {
		w := newWorld(t, managed.WithRandom(func() float64 { return random }))
		w.create(nil)
		got := w.pass().RequeueAfter
		if want := time.Duration((0.9 + 0.2*random) * float64(time.Minute)); (got - want).Abs() > time.Millisecond {
			t.Errorf("random %v: %s, want %s", random, got, want)
		}
	}
}

func hook(factor time.Duration) managed.PollIntervalHook {
	return func(_ resource.Managed, d time.Duration) time.Duration { return factor * d }
}

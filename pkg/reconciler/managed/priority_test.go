package managed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestPriorities verifies that the outcome of a pass determines the priority of the next one.
func TestPriorities(t *testing.T) {
	boom := errors.New("boom")
	conflict := func(w *world) {
		w.answer = func(context.Context, string) error {
			return kerrors.NewConflict(schema.GroupResource{}, key.Name, boom)
		}
	}
	cases := map[string]struct {
		reason  string
		arrange func(*world)
		want    int
	}{
		"Kept": {"all is well", func(*world) {}, controller.PriorityPoll},
		"Paused": {"nothing is expected", func(w *world) {
			w.change(annotate(meta.AnnotationKeyReconciliationPaused,
				"true"))
		}, controller.PriorityPoll},
		"Failed": {"a failure is tried again", func(w *world) { w.cloud.Before = failing("Observe", boom) },
			controller.PriorityErrorRetry},
		"Terminal": {"it is not tried again soon",
			func(w *world) { w.cloud.Before = failing("Observe", external.Terminal("No", boom)) },
			controller.PriorityPoll},
		"Unready": {"something is being made", func(w *world) {
			w.cloud.After = func(_ context.Context, _ string, mg resource.Managed) error {
				mg.SetConditions(commonv1.Creating())

				return nil
			}
		}, controller.PriorityInProgress},
		"Deleting": {"something is being deleted", func(w *world) {
			w.cloud.Before, w.cloud.Swallow = failing("Delete", errSwallow), errSwallow
			w.delete()
		}, controller.PriorityInProgress},
		"ConflictOfAUser": {"what a user asked for was not done", func(w *world) {
			w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
			conflict(w)
		}, controller.PriorityUser},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			w.pass()
			tc.arrange(w)
			result, _ := w.try()
			if result.Priority == nil || *result.Priority != tc.want {
				t.Errorf("%s: priority %s, want %d", tc.reason, ptrTo(result.Priority), tc.want)
			}
		})
	}
}

func ptrTo(p *int) string {
	if p == nil {
		return "none"
	}

	return fmt.Sprint(*p)
}

func annotate(key, value string) func(*volume.Volume) {
	return func(v *volume.Volume) { meta.AddAnnotations(v, map[string]string{key: value}) }
}

// TestWhatIsWellIsLookedAtLaterAfterARestart verifies that only healthy objects are deferred after a restart.
func TestWhatIsWellIsLookedAtLaterAfterARestart(t *testing.T) {
	cases := map[string]struct {
		reason   string
		arrange  func(gallery)
		options  []managed.ReconcilerOption
		deferred bool
	}{
		"Well": {reason: "it is like a thousand others", deferred: true},
		"Option": {
			reason:  "the author wants to look at once",
			options: []managed.ReconcilerOption{managed.WithSpreadAfterRestart(false)},
		},
		"Changed": {
			reason:  "a user changed it meanwhile",
			arrange: func(g gallery) { g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 }) },
		},
		"Deleted": {reason: "a user deleted it meanwhile", arrange: gallery.delete},
		"Requested": {
			reason:  "a user asked for a look",
			arrange: func(g gallery) { g.annotate(meta.AnnotationKeyReconcileRequestedAt, "now") },
		},
		"Paused": {
			reason:  "that has to be said",
			arrange: func(g gallery) { g.annotate(meta.AnnotationKeyReconciliationPaused, "true") },
		},
		"Invalid": {reason: "that has to be said", arrange: func(g gallery) { g.change(policies("x")) }},
		"Unready": {reason: "it is being made", arrange: func(g gallery) {
			g.become(commonv1.Unavailable())
		}},
		"Unsynced": {
			reason:  "it failed",
			arrange: func(g gallery) { g.become(commonv1.ReconcileError(errors.New("boom"))) },
		},
		"Differs": {reason: "an update has not shown its effect", arrange: func(g gallery) {
			g.become(commonv1.Condition{
				Type: commonv1.TypeUpToDate, Status: "False",
				Reason: commonv1.ReasonUpdateRequested,
			})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, append([]managed.ReconcilerOption{managed.WithSpreadAfterRestart(true),
				managed.WithRandom(func() float64 { return 0.25 })}, tc.options...)...)
			g.create(nil)
			g.pass()
			if tc.arrange != nil {
				tc.arrange(g)
			}
			g.restart()
			g.taken()
			result := g.pass()
			requests, calls, _ := g.taken()
			if deferred := calls == "" && requests == "" && result.RequeueAfter == 15*time.Second; deferred != tc.deferred {
				t.Errorf("%s: waits %t, want %t: %v, requests %q, calls %q", tc.reason, deferred, tc.deferred, result,
					requests, calls)
			}
			if tc.deferred {
				g.pass()
				g.expect("", "Connect Observe", "")
			}
		})
	}
}

// TestAUserNeedNotWaitForTheSpread verifies that a change by a user ends the deferral of an object.
func TestAUserNeedNotWaitForTheSpread(t *testing.T) {
	g := newGallery(t, managed.WithSpreadAfterRestart(true))
	g.create(nil)
	g.pass()
	g.restart()
	g.pass()
	g.taken()
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	g.pass()
	if _, calls, _ := g.taken(); calls != "Connect Observe Update Observe" {
		t.Errorf("calls %q", calls)
	}
}

// TestReadyIsNoticedInTime verifies that readiness is noticed at most a tenth of the duration too late.
func TestReadyIsNoticedInTime(t *testing.T) {
	for _, takes := range []time.Duration{300 * time.Millisecond, 3 * time.Second, 12 * time.Second,
		20 * time.Second, 90 * time.Second, 10 * time.Minute} {
		for _, random := range []float64{0, 0.5, 0.999} {
			t.Run(fmt.Sprint(takes, random), func(t *testing.T) {
				w := newWorld(t, managed.WithPollInterval(10*time.Minute),
					managed.WithRandom(func() float64 { return random }))
				w.create(nil)
				begun := w.clock.Now().Add(700 * time.Millisecond)
				w.clock.SetTime(begun)
				w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
					if call == "Observe" && w.clock.Now().Before(begun.Add(takes)) {
						c := commonv1.Creating()
						c.LastTransitionTime = metav1.NewTime(w.clock.Now())
						mg.SetConditions(c)
					}

					return nil
				}
				passes := 0
				for result := w.pass(); w.get().GetCondition(commonv1.TypeReady).Status != "True"; result = w.pass() {
					if passes++; passes%7 == 0 {
						w.restart() // nothing of it is remembered
					}
					w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
				}
				if late := w.clock.Now().Sub(begun.Add(takes)); late > max(time.Second, takes/10) {
					t.Errorf("noticed %s too late", late)
				}
				if most := 100; passes > most {
					t.Errorf("%d passes, want at most %d", passes, most)
				}
			})
		}
	}
}

// TestACreationAfterLongFailuresIsLookedAtSoon verifies that a recent operation after a long failure is observed
// soon.
func TestACreationAfterLongFailuresIsLookedAtSoon(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.cloud.Before = failing("Create", external.NotCreated(errors.New("boom")))
	_, _ = w.try()
	w.clock.SetTime(w.clock.Now().Add(3 * time.Hour))
	w.cloud.Before = nil
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" {
			mg.SetConditions(commonv1.Creating())
		}

		return nil
	}
	if got := w.pass().RequeueAfter; got != time.Second {
		t.Errorf("next pass after %s, want a second", got)
	}
}

func TestAdaptivePoll(t *testing.T) {
	w := newWorld(t, managed.WithAdaptivePoll(10*time.Minute))
	w.create(func(v *volume.Volume) { v.UID = "uid-1" })
	near := func(got, want time.Duration) bool { return got >= want*9/10 && got <= want*11/10 }
	if got := w.pass().RequeueAfter; !near(got, time.Minute) {
		t.Errorf("what is new is looked at after %s", got)
	}
	w.clock.SetTime(w.clock.Now().Add(50 * time.Minute))
	if got := w.pass().RequeueAfter; !near(got, 5*time.Minute) {
		t.Errorf("what has been as it is for fifty minutes is looked at after %s", got)
	}
	w.clock.SetTime(w.clock.Now().Add(50 * time.Hour))
	if got := w.pass().RequeueAfter; !near(got, 10*time.Minute) {
		t.Errorf("what has been as it is for days is looked at after %s", got)
	}
}

// become puts a condition into the stored object.
func (g gallery) become(c commonv1.Condition) {
	g.Helper()
	s := g.get()
	c.ObservedGeneration = s.Generation
	s.SetConditions(c)
	g.Must(g.API.Status().Update(g.Context(), s))
}
